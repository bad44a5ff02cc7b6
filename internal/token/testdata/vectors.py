"""Expected ids from other implementations: tiktoken, Python's re, and the Hugging Face tokenizers.

    python3 -m venv v && v/bin/pip install tiktoken==0.14.0 tokenizers==0.23.3
    ../../../bench/tokenizers.sh DIR          # real tokenizer.json files
    v/bin/python vectors.py TIKTOKEN_FOLDER DIR [CORPUS] > vectors.json

TIKTOKEN_FOLDER holds o200k_base.tiktoken and cl100k_base.tiktoken (the Go module tiktoken-go-loader has both). For each
tokenizer the ids of every text of texts.py are written out; of a large CORPUS (musique_s.json) and of 30,000 texts of
mixed characters only the count and the SHA-256 of the ids, as little-endian uint32, all texts one after the other.
"""

import array
import glob
import hashlib
import json
import os
import re
import struct
import sys

import tiktoken
import tokenizers
from texts import ALPHABET, TEXTS
from tiktoken_ext import openai_public


def local(url, **_):
    return tiktoken.load.load_tiktoken_bpe(sys.argv[1] + "/" + url.split("/")[-1])


openai_public.load_tiktoken_bpe = local


def regex(text):
    words = re.findall(r"\w+|[^\w\s]", text.lower())
    return [struct.unpack("<I", hashlib.sha256(w.encode()).digest()[:4])[0] & 0x7FFFFFFF for w in words]


def hugging_face(path):
    tokenizer = tokenizers.Tokenizer.from_file(path)
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def mixtures(count):
    """Texts that mix the alphabet; mixtures in vectors_test.go makes the same."""
    state = 1

    def draw(n):
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (state >> 33) % n

    for _ in range(count):
        text = ""
        for _ in range(1 + draw(24)):
            text += ALPHABET[draw(len(ALPHABET))] * (1 + draw(3) * draw(2))
        yield text


def digest(encode, texts):
    ids = array.array("I")
    for text in texts:
        ids.extend(encode(text))
    return {"ids": len(ids), "sha256": hashlib.sha256(ids.tobytes()).hexdigest()}


encoders = {
    "o200k": tiktoken.Encoding(**openai_public.o200k_base()).encode_ordinary,
    "cl100k": tiktoken.Encoding(**openai_public.cl100k_base()).encode_ordinary,
    "regex": regex,
}
for path in sorted(glob.glob(os.path.join(sys.argv[2], "*", "tokenizer.json"))):
    encoders[os.path.basename(os.path.dirname(path))] = hugging_face(path)
corpus = open(sys.argv[3], encoding="utf-8").read() if len(sys.argv) > 3 else None


def dump(value):
    return json.dumps(value, separators=(",", ":"))


print("{")
print('"alphabet":' + dump(ALPHABET) + ",")
print('"texts":[\n' + ",\n".join(map(dump, TEXTS)) + "],")
for name, encode in encoders.items():
    large = {"mixtures": digest(encode, mixtures(30000))}
    if corpus:
        # In parts, as prompts are: 20,000 characters each.
        large["corpus"] = digest(encode, (corpus[i : i + 20000] for i in range(0, len(corpus), 20000)))
    ids = ",\n".join(dump(encode(t)) for t in TEXTS)
    comma = "" if name == list(encoders)[-1] else ","
    print(f'"{name}":{{"large":{dump(large)},"ids":[\n{ids}]}}{comma}')
print("}")
