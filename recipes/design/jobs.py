"""Trainings to do and the rows of those that are done, in a folder that several processes share."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from protocol import SPACES

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError
from secateur.rng import generator
from secateur.spaces.decoder import Decoder

#: Random networks of the first table, every tenth of which was trained twice.
FIRST = 150


@dataclass(frozen=True)
class Job:
    """One training to do."""

    architecture: Architecture
    source: str
    seed: int = 0

    @property
    def name(self) -> tuple[str, int]:
        return self.architecture.key, self.seed


def random_jobs(backbone: str, count: int, repeat: int, homogeneous: int, seeds: int = 2, space: str = "small") -> list[Job]:
    """`count` different random architectures of a space, `repeat` of them again with further `seeds`, and then `homogeneous`
    different ones whose layers are all equal. Those repeated are every tenth, whatever the count, before others.

    The source `random` is what proxies are judged by: what a larger count and more seeds add has sources of its own.
    """
    drawn = _drawn(Decoder(backbone, **SPACES[space]), "random", count)
    jobs = [replace(job, source="random" if place < FIRST else "more") for place, job in enumerate(drawn)]
    repeated = [*jobs[::10], *(job for place, job in enumerate(jobs) if place % 10)][:repeat]
    for seed in range(1, seeds):
        first = [seed == 1 and place < FIRST // 10 for place in range(len(repeated))]
        jobs += [replace(job, seed=seed, source="random" if f else "seeds") for job, f in zip(repeated, first, strict=True)]
    return jobs + _drawn(Decoder(backbone, **SPACES[space], homogeneous=True), "homogeneous", homogeneous)


def _drawn(space: Decoder, source: str, count: int) -> list[Job]:
    found: dict[str, Job] = {}
    draw = 0
    while len(found) < count:
        architecture = space.sample(generator(0, "benchmark", source, draw))
        found.setdefault(architecture.key, Job(architecture, source))
        draw += 1
    return list(found.values())


def listed_jobs(file: Path) -> list[Job]:
    """Jobs from JSON Lines: `architecture` (as an object or as JSON text), `source`, and a `seed` where it is not 0."""
    jobs = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            said = row["architecture"]
            architecture = Architecture.from_json(said) if isinstance(said, str) else Architecture.from_dict(said)
            jobs.append(Job(architecture, str(row["source"]), int(row.get("seed", 0))))
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigurationError(f"`{file}` line {number} is not an architecture with a `source`: {error!r}.") from error
    return jobs


def rows_of(folder: Path, kind: str = "rows") -> list[dict[str, Any]]:
    """All finished rows in a folder; a line that was cut off when a process died does not count."""
    rows = []
    for file in sorted(folder.glob(f"{kind}-*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            try:
                rows.append(json.loads(line))
            except ValueError:
                continue
    return rows


@functools.cache
def _key(architecture: str) -> str:
    return Architecture.from_json(architecture).key


def name_of(row: dict[str, Any]) -> tuple[str, int]:
    """The name of the job that a row is of."""
    return _key(row["architecture"]), row["seed"]


def append(file: Path, row: dict[str, Any]) -> None:
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(row) + "\n")


@contextlib.contextmanager
def claimed(file: Path, *, wait: bool = False) -> Iterator[bool]:
    """Whether no other process holds this claim, or has let go of it; a process that dies lets go of what it held."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True


@dataclass
class Unfinished:
    """Jobs that have no row in a folder and that no other process is at. Each is held until it is let go."""

    jobs: Sequence[Job]
    folder: Path
    own: str
    taken: int = 0

    def __iter__(self) -> Iterator[tuple[Job, contextlib.ExitStack]]:
        """The next such job, and its claim. What was trained under another source is only written again."""
        for number, job in enumerate(self.jobs, start=1):
            with contextlib.ExitStack() as held:
                if not held.enter_context(claimed(self.folder / "claims" / f"{job.architecture.key}-{job.seed}")):
                    self.taken += 1
                    continue
                rows = rows_of(self.folder) + rows_of(self.folder, "failed")
                earlier = [row for row in rows if name_of(row) == job.name]
                if not earlier:
                    yield job, held.pop_all()
                elif all(row["source"] != job.source for row in earlier):
                    kind = "failed" if "failure" in earlier[0] else "rows"
                    append(self.folder / f"{kind}-{self.own}.jsonl", {**earlier[0], "source": job.source})
                    print(f"{number}/{len(self.jobs)} {job.architecture}: done already, as {earlier[0]['source']}", flush=True)
