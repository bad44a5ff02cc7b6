"""Talks to the engine at argv[1] with the public OpenAI client: chat, completions, streaming, errors."""
import sys
import openai

client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="none", max_retries=0)
model = client.models.list().data[0].id
text = "The lake is 7 m deep. " * 20 + "How deep is the lake?"
messages = [{"role": "system", "content": "Be terse."}, {"role": "user", "content": [{"type": "text", "text": text}]}]
want = "The lake is 7 m deep."

chat = client.chat.completions.create(model=model, messages=messages, max_tokens=32, temperature=0, seed=1)
assert chat.choices[0].message.content == want, chat
assert chat.choices[0].finish_reason == "stop", chat
assert chat.usage.total_tokens == chat.usage.prompt_tokens + chat.usage.completion_tokens, chat
assert chat.usage.prompt_tokens_details.cached_tokens == 0, chat

stream = client.chat.completions.create(model=model, messages=messages, max_tokens=32, stream=True, stream_options={"include_usage": True})
chunks = list(stream)
assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == want, chunks
assert chunks[0].choices[0].delta.role == "assistant", chunks[0]
assert chunks[-1].usage.prompt_tokens_details.cached_tokens > 0, chunks[-1]
assert [c.choices[0].finish_reason for c in chunks if c.choices and c.choices[0].finish_reason] == ["stop"], chunks

done = client.completions.create(model=model, prompt=text, max_tokens=3)
assert done.choices[0].finish_reason == "length" and done.usage.completion_tokens == 3, done
pieces = [c.choices[0].text for c in client.completions.create(model=model, prompt=text, max_tokens=32, stream=True) if c.choices]
assert "".join(pieces) == want, pieces

for kind, call in [
    (openai.NotFoundError, lambda: client.chat.completions.create(model="other", messages=messages)),
    (openai.BadRequestError, lambda: client.chat.completions.create(model=model, messages=[])),
    (openai.BadRequestError, lambda: client.completions.create(model=model, prompt=text, max_tokens=0)),
]:
    try:
        call()
    except kind as error:
        assert error.body["message"] and error.body["code"] == error.status_code, error.body
    else:
        raise AssertionError(f"no {kind.__name__}")
print("ok", openai.__version__)
