"""The floor beside which a run is measured: chat requests with nothing but aiohttp.

python bare_client.py URL AT_ONCE MODEL:REQUESTS:BYTES...

The models take turns, as long as each has requests left.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator

import aiohttp


def bodies(kinds: list[str]) -> Iterator[dict[str, object]]:
    """The requests, each with a number of its own."""
    parts = [kind.split(":") for kind in kinds]
    for number in range(max(int(total) for _, total, _ in parts)):
        for model, total, size in parts:
            if number < int(total):
                text = f"CASE-{number} " + "x" * int(size)
                yield {"model": model, "messages": [{"role": "user", "content": text}]}


async def main(url: str, at_once: int, kinds: list[str]) -> None:
    wanted = bodies(kinds)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def worker() -> None:
            for body in wanted:
                async with session.post(url + "/chat/completions", json=body) as answer:
                    (await answer.json())["choices"][0]["message"]["content"]

        await asyncio.gather(*(worker() for _ in range(at_once)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3:]))
