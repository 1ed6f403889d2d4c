"""PostgreSQL beside SQLite: the engine with a store in a database and with one in a file.

The server is a new one on this machine, as in the tests: the numbers say what the statements cost,
not what a network adds.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from bench.engine import CALLS, ROUNDS, answer_all, spent, works
from callscore.store.address import StoreAddress, open_store, read_address
from callscore.store.protocol import RunLedger
from callscore.store.run_records import RunHeader

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))


async def send_all(run: RunLedger) -> None:
    """Send everything, as a worker does: the replies to a chunk are looked up at once."""
    if run.shared is not None:
        await run.shared.look_up([work.request.key for work in works()])
    await answer_all(run)


def with_store(address: StoreAddress) -> tuple[float, float]:
    """CPU in microseconds a call, and calls a second; every reply is paid and stored."""
    with open_store(address) as store:
        run = store.open_run(RunHeader("bench", "config", "data", CALLS))
        result = spent(lambda: send_all(run))
        run.end("complete")
    return result


def main() -> None:
    from postgres_server import find_binaries, postgres_server

    if find_binaries() is None:
        print("skipped: no PostgreSQL")
        return
    in_file, in_database = [], []
    with postgres_server() as server, tempfile.TemporaryDirectory() as folder:
        for number in range(ROUNDS):
            in_file.append(with_store(Path(folder) / f"{number}.db"))
            in_database.append(with_store(read_address(server.new_store(), Path(folder))))
    for name, found in (("SQLite", in_file), ("PostgreSQL", in_database)):
        fastest = max(a_second for _, a_second in found)
        print(f"{name:10}  {min(found)[0]:6.0f} us CPU a call, {fastest:6,.0f} replies/s")
    ratio = max(a for _, a in in_database) / max(a for _, a in in_file)
    print(f"PostgreSQL : SQLite  {ratio:.2f}")


if __name__ == "__main__":
    main()
