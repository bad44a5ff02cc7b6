"""Writes a small random Llama as GGUF for llama.cpp and Ollama: 4 layers, 452 tokens, 11 MB. Usage: tinygguf.py OUT."""
import sys

import gguf
import numpy as np

rng = np.random.default_rng(1)
width, layers, inner, heads = 256, 4, 512, 4
consonants, vowels = "bdfgklmnprstvz", "aeiou"
tokens = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % i for i in range(256)] + ["▁"]
tokens += [chr(c) for c in range(97, 123)] + ["▁" + chr(c) for c in range(97, 123)]
tokens += [c + v for c in consonants for v in vowels] + ["▁" + c + v for c in consonants for v in vowels]
n = len(tokens)

w = gguf.GGUFWriter(sys.argv[1], "llama")
w.add_name("tiny")
w.add_context_length(8192)
w.add_embedding_length(width)
w.add_block_count(layers)
w.add_feed_forward_length(inner)
w.add_head_count(heads)
w.add_head_count_kv(heads)
w.add_layer_norm_rms_eps(1e-5)
w.add_rope_dimension_count(width // heads)
w.add_vocab_size(n)
w.add_file_type(0)
w.add_tokenizer_model("llama")
w.add_token_list(tokens)
w.add_token_scores([0.0] * 3 + [-1000.0] * 256 + [float(-i) for i in range(n - 259)])
w.add_token_types([2, 3, 3] + [6] * 256 + [1] * (n - 259))
w.add_bos_token_id(1)
w.add_eos_token_id(2)
w.add_unk_token_id(0)
w.add_chat_template("{% for m in messages %}<|{{m['role']}}|> {{m['content']}} {% endfor %}<|assistant|>")


def tensor(name, *shape, scale=0.05):
    w.add_tensor(name, (rng.standard_normal(shape) * scale).astype(np.float32))


def ones(name):
    w.add_tensor(name, np.ones(width, dtype=np.float32))


tensor("token_embd.weight", n, width, scale=1.0)
for i in range(layers):
    block = "blk.%d." % i
    ones(block + "attn_norm.weight")
    ones(block + "ffn_norm.weight")
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        tensor(block + name + ".weight", width, width, scale=0.08)
    tensor(block + "ffn_gate.weight", inner, width)
    tensor(block + "ffn_up.weight", inner, width)
    tensor(block + "ffn_down.weight", width, inner)
ones("output_norm.weight")
tensor("output.weight", n, width, scale=0.1)
w.write_header_to_file()
w.write_kv_data_to_file()
w.write_tensors_to_file()
w.close()
