"""How many small POST exchanges a second the wire makes at a given concurrency, and whether it invents faults.

    python benchmarks/wire_concurrency.py [--exchanges 3000] [--concurrency 64] [--deadline 5]

The server is a process of its own on a free loopback port. Every answer is a good one, so every end but `complete`
is invented here; the exit code is 1 if there is one.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator

import anyio
from pytest_adcp.harness.transcript import Limits
from pytest_adcp.harness.wire import Connection, CookieStore, Lane, Sent, send

BODY = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_products","arguments":{}}}'
ANSWER = b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"' + b"x" * 500 + b'"}]}}'


async def serve() -> None:
    """Answer every POST with the same JSON; print the port, stop when stdin closes."""
    answer = (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(ANSWER)
        + ANSWER
    )

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
                await reader.readexactly(length)
                writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(converse, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


async def run(url: str, exchanges: int, concurrency: int, deadline: float) -> list[Sent]:
    """Make the exchanges: every lane takes the next one as soon as it is free."""
    todo: Iterator[int] = iter(range(exchanges))
    made: list[Sent] = []
    connection, cookies, limits = Connection(), CookieStore(), Limits()

    async def lane() -> None:
        async with Lane(connection, cookies) as lane:
            for _ in todo:
                headers = (
                    ("Content-Type", "application/json"),
                    ("Accept", "application/json, text/event-stream"),
                )
                made.append(await send(lane, "POST", url, headers, BODY, deadline=deadline, limits=limits))

    async with anyio.create_task_group() as group:
        for _ in range(concurrency):
            group.start_soon(lane)
    return made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--exchanges", type=int, default=3000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--deadline", type=float, default=5.0)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve())
        return 0
    command = [sys.executable, __file__, "--serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}/mcp"
        started, busy = time.perf_counter(), time.process_time()
        made = anyio.run(run, url, options.exchanges, options.concurrency, options.deadline)
        seconds, busy = time.perf_counter() - started, time.process_time() - busy
    ends = Counter(sent.end for sent in made)
    invented = sum(count for end, count in ends.items() if end != "complete")
    slowest = max(sent.seconds for sent in made)
    print(
        f"{len(made)} exchanges, {options.concurrency} lanes: {len(made) / seconds:.0f} exchanges/s"
        f" ({busy / len(made) * 1e3:.2f} ms CPU each), slowest {slowest * 1e3:.0f} ms,"
        f" {invented} not complete {dict(ends) if invented else ''}"
    )
    return 1 if invented or len(made) != options.exchanges else 0


if __name__ == "__main__":
    sys.exit(main())
