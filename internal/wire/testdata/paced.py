"""The paced load of BenchmarkPaced with aiohttp: prints id and wall-clock nanoseconds of the first output of each stream. Usage: paced.py URL ROUNDS."""
import asyncio
import json
import sys
import time

import aiohttp


async def one(session, url, name):
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "x"}]}
    async with session.post(url + "/v1/chat/completions", json=body, headers={"X-Request-Id": name}) as response:
        first = None
        async for line in response.content:
            now = time.time_ns()
            if not line.startswith(b"data:") or b"[DONE]" in line:
                continue
            choices = json.loads(line[5:]).get("choices")
            if first is None and choices and choices[0]["delta"].get("content"):
                first = now
        print(name, first)


async def main(url, rounds):
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        for n in range(rounds):
            await asyncio.gather(*(one(session, url, "py-%d-%d" % (n, i)) for i in range(64)))


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
