"""Writes configuration and tokenizer of a small Llama for `vllm serve --load-format dummy`. Usage: tinyllama.py DIR."""
import json
import pathlib
import random
import sys

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

out = pathlib.Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
r = random.Random(1)


def words(n):
    return " ".join("".join(r.choice("bdfgklmnprstvz") + r.choice("aeiou") for _ in range(r.choice((2, 3)))) for _ in range(n))


tok = Tokenizer(models.BPE())
tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tok.decoder = decoders.ByteLevel()
special = ["<s>", "</s>", "<|user|>", "<|assistant|>", "<|system|>"]
tok.train_from_iterator(
    [words(3000), "the quick brown fox user assistant system hello ready one two three " * 20],
    trainers.BpeTrainer(vocab_size=1000, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()),
)
tok.save(str(out / "tokenizer.json"))


def write(name, document):
    (out / name).write_text(json.dumps(document, indent=2))


write("tokenizer_config.json", {
    "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", "model_max_length": 4096,
    "chat_template": "<s>{% for m in messages %}<|{{m['role']}}|>{{m['content']}}{% endfor %}<|assistant|>",
})
write("config.json", {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 128, "intermediate_size": 256,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 32,
    "vocab_size": tok.get_vocab_size(), "max_position_embeddings": 4096, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
    "bos_token_id": 0, "eos_token_id": 1, "torch_dtype": "bfloat16", "hidden_act": "silu", "tie_word_embeddings": False,
})
write("generation_config.json", {"bos_token_id": 0, "eos_token_id": 1})
