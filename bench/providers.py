"""CPU per call: an `openai` model beside a bare aiohttp client, same server, same requests."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path

import aiohttp

from bench.measuring import sized
from callscore.core.case import Message, Prompt
from callscore.core.provider import ProviderResponse
from callscore.core.run import ModelSpec
from callscore.providers.catalog import make_provider
from callscore.providers.http import Http
from callscore.providers.secrets import Secrets

SERVER = Path(__file__).parent.parent.parent / "shared" / "tools" / "mock_server.py"
CALLS, CONCURRENCY, ROUNDS = sized(2_000, 8), 100, sized(5, 1)
LIMIT = 1.3

Ask = Callable[[int], Awaitable[None]]


def prompt(number: int) -> Prompt:
    call = f"CASE-{number} " + "agent: good morning, how may I help? " * 100
    return Prompt([Message("system", "Fill in the form."), Message("user", call)])


async def in_parallel(ask: Ask) -> None:
    numbers = iter(range(CALLS))

    async def worker() -> None:
        for number in numbers:
            await ask(number)

    await asyncio.gather(*(worker() for _ in range(CONCURRENCY)))


async def bare(url: str) -> None:
    headers = {"authorization": "Bearer x", "content-type": "application/json"}
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:

        async def ask(number: int) -> None:
            turns = [{"role": m.role, "content": m.content} for m in prompt(number).messages]
            body = json.dumps({"model": "mock", "messages": turns}).encode()
            async with session.post(f"{url}/chat/completions", data=body) as response:
                answer = json.loads(await response.read())
                assert answer["choices"][0]["message"]["content"]

        await in_parallel(ask)


async def ours(url: str) -> None:
    model = ModelSpec("mock", "openai", "mock", url, api_key_env="BENCH_KEY")
    provider = make_provider(model, Secrets({"BENCH_KEY": "x"}), Http())

    async def ask(number: int) -> None:
        answer = await provider.attempt(provider.request(prompt(number), 1))
        assert isinstance(answer, ProviderResponse)

    await in_parallel(ask)
    await provider.close()


def cpu_ms_a_call(way: Callable[[str], Coroutine[None, None, None]], url: str) -> float:
    began = time.process_time()
    asyncio.run(way(url))
    return 1000 * (time.process_time() - began) / CALLS


def main() -> None:
    if not SERVER.exists():
        print(f"skipped: {SERVER.name} is not there")
        return
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/v1"
    command = [sys.executable, str(SERVER), "--port", str(port), "--latency-ms", "20"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert server.stdout is not None
        server.stdout.readline()
        pairs = [(cpu_ms_a_call(bare, url), cpu_ms_a_call(ours, url)) for _ in range(ROUNDS)]
    finally:
        server.terminate()
        server.wait()
    floor, own = min(p[0] for p in pairs), min(p[1] for p in pairs)
    print(f"bare aiohttp          {floor:7.3f} ms CPU a call")
    print(f"callscore provider    {own:7.3f} ms CPU a call")
    print(f"ratio                 {own / floor:7.2f}  (limit {LIMIT})")
