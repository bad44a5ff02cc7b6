"""Small tokenizer.json files, one per feature, and their ids from the Hugging Face tokenizers.

    python3 -m venv v && v/bin/pip install tokenizers==0.23.3
    v/bin/python features.py > features.json
"""

import json

import tokenizers

TEXTS = [
    "",
    " ",
    "hello world",
    "  hello   world  ",
    "Hello, World! 12345 x9y",
    "abab ab  a\nb",
    "a<s>b <s> c<s>",
    "x<mask>y  <mask>  z <mask>",
    "tok token untok tok.tok Tok",
    "caf\u00e9 cafe\u0301 \ufb01 \u212b \uac00 \u1100\u1161 \u0130I",
    "\u4f60\u597d \U0001f600 zz\u00e9zz\u4f60\u4f60z",
    "\u2581a \u2581\u2581b",
    "1 2\u00bd\u0663\u216712,34",
    "q qq qqq \u00a0q",
]


def byte_letters():
    keep = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in keep]
    return {b: chr(b) for b in keep} | {b: chr(256 + i) for i, b in enumerate(rest)}


def model(symbols, merges, extra=(), **options):
    tokens = [*extra, *symbols]
    for left, right in merges:
        if left + right not in tokens:
            tokens.append(left + right)
    return {
        "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False,
        "byte_fallback": False, "ignore_merges": False, "vocab": {t: i for i, t in enumerate(tokens)}, "merges": [list(m) for m in merges],
    } | options


LETTERS = byte_letters()
SPACE = LETTERS[32]
MERGES = [("l", "l"), ("h", "e"), ("he", "ll"), ("hell", "o"), (SPACE, "w"), ("o", "r"), (SPACE + "w", "or"), ("a", "b"), ("ab", "ab"), (SPACE, SPACE), ("1", "2"), ("3", "4"), ("12", "34")]
MARKED = [(m[0].replace(SPACE, "\u2581"), m[1].replace(SPACE, "\u2581")) for m in MERGES]
CHARS = list("\u2581 abcdefghijklmnopqrstuvwxyHW12349,.!\n")
BYTES = [f"<0x{b:02X}>" for b in range(256)]
MODELS = {
    "bytes": model(LETTERS.values(), MERGES),
    "whole": model(LETTERS.values(), [*MERGES[4:], *MERGES[:4]], ignore_merges=True, extra=["hello", SPACE + "world"]),
    "unknown": model(CHARS, MARKED, extra=["<unk>"], unk_token="<unk>"),
    "fused": model(CHARS, MARKED, extra=["<unk>"], unk_token="<unk>", fuse_unk=True),
    "dropped": model(CHARS, MARKED),
    "fallback": model(CHARS, MARKED, extra=["<unk>", *BYTES], unk_token="<unk>", fuse_unk=True, byte_fallback=True),
    "some": model(CHARS, MARKED, extra=["<unk>", "<0xC3>", "<0xA9>"], unk_token="<unk>", fuse_unk=True, byte_fallback=True),
}


def added(content, **options):
    return {"id": 1000, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False} | options


def split(kind, pattern, behavior, invert=False):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def sequence(*steps):
    return {"type": "Sequence", "pretokenizers": list(steps)}


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
GPT2 = BYTE_LEVEL | {"use_regex": True}
REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}


def metaspace(scheme, cut):
    return {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": scheme, "split": cut}


FEATURES = {
    "byte level alone": ("bytes", None, BYTE_LEVEL, []),
    "gpt-2 pattern": ("bytes", None, GPT2, []),
    "gpt-2 pattern by default": ("bytes", None, {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}, []),
    "prefix space": ("bytes", None, GPT2 | {"add_prefix_space": True}, [added("<s>")]),
    "ignore merges": ("whole", None, GPT2, []),
    "digits alone": ("bytes", None, sequence({"type": "Digits", "individual_digits": True}, GPT2), []),
    "digits in runs": ("bytes", None, sequence({"type": "Digits", "individual_digits": False}, GPT2), []),
    "nfc": ("bytes", {"type": "NFC"}, GPT2, []),
    "nfd": ("bytes", {"type": "NFD"}, GPT2, []),
    "nfkc": ("bytes", {"type": "NFKC"}, GPT2, []),
    "nfkd lowercase": ("bytes", {"type": "Sequence", "normalizers": [{"type": "NFKD"}, {"type": "Lowercase"}]}, GPT2, []),
    "replace regex": ("bytes", {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}, GPT2, []),
    "prepend and replace": ("fallback", {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"}, REPLACE]}, None, [added("<s>", special=True)]),
    "no pre-tokenizer, unknown": ("unknown", REPLACE, None, []),
    "no pre-tokenizer, unknown fused": ("fused", REPLACE, None, []),
    "no pre-tokenizer, unknown dropped": ("dropped", REPLACE, None, []),
    "byte fallback": ("fallback", REPLACE, None, []),
    "byte fallback for some": ("some", REPLACE, None, []),
    "metaspace always": ("fallback", None, metaspace("always", True), [added("<s>")]),
    "metaspace never": ("fallback", None, metaspace("never", True), [added("<s>")]),
    "metaspace first": ("fallback", None, metaspace("first", True), [added("<s>")]),
    "metaspace unsplit": ("fallback", None, metaspace("always", False), []),
    "added plain": ("bytes", None, GPT2, [added("<s>"), added("<mask>", id=1001), added("tok", id=1002), added("token", id=1003)]),
    "added left": ("bytes", None, GPT2, [added("<s>"), added("<mask>", id=1001, lstrip=True)]),
    "added right": ("bytes", None, GPT2, [added("<s>"), added("<mask>", id=1001, rstrip=True)]),
    "added both": ("bytes", None, GPT2, [added("<s>"), added("<mask>", id=1001, lstrip=True, rstrip=True)]),
    "added single word": ("bytes", None, GPT2, [added("tok", single_word=True), added("<s>", id=1001)]),
    "added normalized": ("bytes", {"type": "Lowercase"}, GPT2, [added("Tok", normalized=True), added("<s>", id=1001)]),
    "split isolated": ("bytes", None, sequence(split("String", "l", "Isolated"), BYTE_LEVEL), []),
    "split removed": ("bytes", None, sequence(split("String", " ", "Removed"), BYTE_LEVEL), []),
    "split removed inverted": ("bytes", None, sequence(split("Regex", "[a-z]+", "Removed", True), BYTE_LEVEL), []),
    "split previous": ("bytes", None, sequence(split("String", " ", "MergedWithPrevious"), BYTE_LEVEL), []),
    "split next": ("bytes", None, sequence(split("Regex", "[ ,]", "MergedWithNext"), BYTE_LEVEL), []),
    "split contiguous": ("bytes", None, sequence(split("Regex", "[ ,q]", "Contiguous"), BYTE_LEVEL), []),
    "split isolated inverted": ("bytes", None, sequence(split("Regex", "[a-z]+", "Isolated", True), BYTE_LEVEL), []),
    "split twice": ("bytes", None, sequence(split("Regex", "[0-9]{1,2}", "Isolated"), split("Regex", "\\s+", "MergedWithNext"), BYTE_LEVEL), []),
}

out = []
for name, (model_name, normalizer, pre_tokenizer, tokens) in FEATURES.items():
    file = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": tokens, "normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "post_processor": None, "decoder": None}
    # Ids of added tokens follow the vocabulary's.
    size = len(MODELS[model_name]["vocab"])
    for token in tokens:
        token["id"] += size - 1000
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps(file | {"model": MODELS[model_name]}))
    out.append({"name": name, "model": model_name, "file": file, "ids": [tokenizer.encode(t, add_special_tokens=False).ids for t in TEXTS]})
print("{")
print('"texts":' + json.dumps(TEXTS) + ",")
print('"models":{\n' + ",\n".join(json.dumps(k) + ":" + json.dumps(v, separators=(",", ":")) for k, v in MODELS.items()) + "},")
print('"features":[\n' + ",\n".join(json.dumps(f, separators=(",", ":")) for f in out) + "]")
print("}")
