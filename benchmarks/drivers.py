"""How many trials a second a store sustains with several drivers on one study, each a process, whose trials cost nothing.

By the clock, since drivers wait for the store and for each other. A ratio is the trials a second of so many drivers ÷ those of
one, in one run. Beside it: trials a second, and the processor's milliseconds that the drivers spend on a trial. The study is in
a file (SQLite), or in the database that `--store` names, each time in a new schema of it (PostgreSQL).

    python benchmarks/drivers.py > drivers.out
    python benchmarks/drivers.py --store postgresql://user@host/name >> drivers.out
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from free import Free

from secateur.search.random import Random
from secateur.spaces.pruning import Shape, Small
from secateur.study import Stop, Study, create_store, open_store
from secateur.testing.toys import Toy


def drive(store: str, trials: int) -> None:
    """One driver, told by a line when to begin; says when it ended and what it took of the processor."""
    toy = Toy.of(Small(Shape(6, 12, 1536)))
    with open_store(store) as opened:
        study = Study(opened, Random(toy.space, toy.objectives, seed=0), [Free(toy)], toy.objectives)
        print("ready", flush=True)
        sys.stdin.readline()
        began = time.process_time()
        study.run(Stop(trials=trials))
        print(time.time(), time.process_time() - began, flush=True)


def together(store: str, drivers: int, trials: int) -> tuple[float, float]:
    """Seconds by the clock and of the processor that so many drivers take for so many trials."""
    create_store(store).close()
    command = [sys.executable, __file__, "--drive", store, str(trials)]
    started = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(drivers)]
    try:
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        began = time.time()
        for process in started:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        ends = [tuple(map(float, process.communicate()[0].split())) for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()
    with open_store(store) as opened:
        assert sorted(t.id for t in opened.trials() if t.id is not None) == list(range(trials))
    return max(end for end, _ in ends) - began, sum(spent for _, spent in ends)


@contextmanager
def place(url: str | None) -> Iterator[str]:
    """Where a new study can be: a file, or a schema of its own."""
    if url is None:
        with tempfile.TemporaryDirectory() as folder:
            yield str(Path(folder) / "study.db")
        return
    from sqlalchemy import create_engine, make_url, text

    name = f"benchmark_{uuid.uuid4().hex[:12]}"
    engine = create_engine(make_url(url).set(drivername="postgresql+psycopg"))
    with engine.begin() as connection:
        connection.execute(text(f"CREATE SCHEMA {name}"))
    try:
        yield f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3D{name}"
    finally:
        with engine.begin() as connection:
            connection.execute(text(f"DROP SCHEMA {name} CASCADE"))
        engine.dispose()


def main() -> None:
    from measuring import Report, arguments

    def more(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--store", default=None, help="the URL of a PostgreSQL database, instead of a file")
        parser.add_argument("--repeats", type=int, default=3, help="how often each is measured, by turns")

    given = arguments(__doc__ or "", more)
    several, trials, repeats = ([1, 2], 20, 1) if given.quick else ([1, 4, 16], 400, given.repeats)
    report, name = Report(given.quick), "PostgreSQL" if given.store else "SQLite"
    taken: dict[int, list[tuple[float, float]]] = {drivers: [] for drivers in several}
    for _ in range(repeats):
        for drivers in several:
            with place(given.store) as store:
                taken[drivers].append(together(store, drivers, trials))
    alone = sorted(taken[1])[repeats // 2][0]
    for drivers in several:
        seconds, spent = sorted(taken[drivers])[repeats // 2]
        report.add(
            f"trials a second of {drivers} drivers ÷ of one, {name}",
            alone / seconds,
            None,
            lowest=alone / max(taken[drivers])[0],
            highest=alone / min(taken[drivers])[0],
            trials_a_second=trials / seconds,
            processor_milliseconds=1e3 * spent / trials,
            trials=trials,
        )
    report.end()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--drive"]:
        drive(sys.argv[2], int(sys.argv[3]))
    else:
        main()
