"""Expected ids from other implementations.

    python3 -m venv v && v/bin/pip install tiktoken==0.14.0
    v/bin/python vectors.py FOLDER > vectors.json

FOLDER holds o200k_base.tiktoken and cl100k_base.tiktoken (the Go module tiktoken-go-loader has both).
"""

import hashlib
import json
import re
import struct
import sys

import tiktoken
from tiktoken_ext import openai_public
from texts import TEXTS


def local(url, **_):
    return tiktoken.load.load_tiktoken_bpe(sys.argv[1] + "/" + url.split("/")[-1])


openai_public.load_tiktoken_bpe = local


def regex_id(token):
    return struct.unpack("<I", hashlib.sha256(token.encode()).digest()[:4])[0] & 0x7FFFFFFF


def regex(text):
    return [regex_id(t) for t in re.findall(r"\w+|[^\w\s]", text.lower())]


encoders = {
    "o200k": tiktoken.Encoding(**openai_public.o200k_base()).encode_ordinary,
    "cl100k": tiktoken.Encoding(**openai_public.cl100k_base()).encode_ordinary,
    "regex": regex,
}
print("[")
print(",\n".join(json.dumps({"text": t} | {n: e(t) for n, e in encoders.items()}, separators=(",", ":")) for t in TEXTS))
print("]")
