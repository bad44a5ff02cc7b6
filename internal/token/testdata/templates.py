"""Expected renderings of chat templates, from Python's Jinja set up as transformers' apply_chat_template sets it up.

    python3 -m venv v && v/bin/pip install jinja2==3.1.6
    ../../../bench/tokenizers.sh DIR
    v/bin/python templates.py DIR > templates.json

The real templates are not ours to commit: of their renderings stands only the SHA-256, or "error" where Python raises.
"""

import datetime
import glob
import hashlib
import json
import os
import sys

import jinja2
import jinja2.ext
import jinja2.sandbox

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Gets <the> weather & more",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "na\u00efve"}, "unit": {"type": "string", "enum": ["c", "f"]}},
            "required": ["city"],
        },
    },
}
CALL = {"id": "abc123def", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Z\u00fcrich", "n": 1.5, "k": [1, 2, True]}}}
HI = {"role": "user", "content": "Hello, <b>world</b> & 'you' \"there\"!\n"}
SYSTEM = {"role": "system", "content": "Be brief."}
THOUGHT = {"role": "assistant", "content": "<think>\nhm\n</think>\n\nHello."}

CASES = [
    {"messages": [HI], "tools": [], "generate": True},
    {"messages": [SYSTEM, {"role": "user", "content": "  hi  "}, {"role": "assistant", "content": "Hello."}, HI], "tools": [], "generate": True},
    {"messages": [SYSTEM, HI, THOUGHT], "tools": [], "generate": False},
    {"messages": [HI, THOUGHT, {"role": "user", "content": "And?"}, THOUGHT], "tools": [], "generate": False},
    {"messages": [SYSTEM, HI], "tools": [TOOL], "generate": True},
    {
        "messages": [
            HI,
            {"role": "assistant", "content": "", "tool_calls": [CALL]},
            {"role": "tool", "content": "sunny", "tool_call_id": "abc123def", "name": "get_weather"},
            {"role": "assistant", "content": "It is sunny."},
            {"role": "user", "content": "Thanks"},
        ],
        "tools": [TOOL, TOOL],
        "generate": True,
    },
]

OWN = [
    "{% for m in messages %}\n  <|{{ m.role }}|>{{ m['content'] | trim }}\n{% endfor %}\n{% if add_generation_prompt %}<|assistant|>{% endif %}",
    "{{ bos_token }}{%- set ns = namespace(n=0) -%}{% for m in messages if m.role != 'system' %}{% set ns.n = ns.n + 1 %}{{ loop.index0 }}/{{ ns.n }}:{{ m.content.split('</think>')[-1].lstrip('\\n') }}{% if not loop.last %}, {% endif %}{% endfor %}{{ eos_token }}",
    "{% if tools %}{{ tools | tojson }}|{{ tools|tojson(indent=2) }}|{{ tools[0] | tojson(indent=4, sort_keys=true) }}|{{ tools | tojson(ensure_ascii=true) }}|{{ tools | tojson(separators=(',', ':')) }}{% endif %}",
    "{% macro show(m, end='.') %}{{ m.role | upper }}{{ end }}{% endmacro %}{% for m in messages[::-1] %}{{ show(m) }}{{ show(m, end='!') }}{% if loop.index > 2 %}{% break %}{% endif %}{% endfor %}",
    "{% if messages[0].role == 'tool' %}{{ raise_exception('no') }}{% endif %}{{ strftime_now('%d %b %Y, %B %-d'|replace('-', '')) }}",
    "{% for m in messages %}{% for c in m.tool_calls or [] %}{{ c.function.arguments | tojson }}{% for k, v in c.function.arguments.items() %} {{ k }}={{ v }}{% endfor %}{% endfor %}{% endfor %}",
    "{{ messages | map(attribute='role') | join(',') }} {{ messages | selectattr('role', 'equalto', 'user') | list | length }} {{ 'x' if tools is none else 'y' }} {{ missing is defined }}",
]


class Generation(jinja2.ext.Extension):
    """{% generation %} marks the assistant's text for training and renders as what it holds."""

    tags = {"generation"}

    def parse(self, parser):
        next(parser.stream)
        return parser.parse_statements(["name:endgeneration"], drop_needle=True)


def render(source, case, tokens):
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    env = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols, Generation])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda f: datetime.datetime(2026, 3, 5, 14, 7, 9).strftime(f)
    try:
        return env.from_string(source).render(
            messages=case["messages"], tools=case["tools"] or None, documents=None, add_generation_prompt=case["generate"], **tokens
        )
    except Exception:
        return "error"


def digest(text):
    return text if text == "error" else hashlib.sha256(text.encode()).hexdigest()


real = {}
for path in sorted(glob.glob(os.path.join(sys.argv[1], "*", "tokenizer_config.json"))):
    config = json.load(open(path, encoding="utf-8"))
    if "chat_template" not in config:
        continue
    tokens = {k: v["content"] if isinstance(v, dict) else v for k, v in config.items() if k.endswith("_token") and v and not isinstance(v, bool)}
    real[os.path.basename(os.path.dirname(path))] = [digest(render(config["chat_template"], c, tokens)) for c in CASES]
for path in sorted(glob.glob(os.path.join(sys.argv[1], "templates", "*.jinja"))):
    source = open(path, encoding="utf-8").read()
    real["templates/" + os.path.basename(path)] = [digest(render(source, c, {})) for c in CASES]

TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
own = [{"template": s, "expected": [render(s, c, TOKENS) for c in CASES]} for s in OWN]
print("{")
print('"cases":[\n' + ",\n".join(json.dumps(c) for c in CASES) + "],")
print('"own":[\n' + ",\n".join(json.dumps(o) for o in own) + "],")
print('"real":{\n' + ",\n".join(json.dumps(k) + ":" + json.dumps(v) for k, v in real.items()) + "}")
print("}")
