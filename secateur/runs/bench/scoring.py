"""Scores of every architecture of a table, by low-cost proxies, counts and the beginnings of its learning curves."""

from __future__ import annotations

import csv
import io
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from secateur.architecture import digest
from secateur.errors import ConfigurationError, EvaluationFailure, UnknownNameError, first_line
from secateur.objectives import QUANTITIES
from secateur.runs.bench.material import Material
from secateur.spaces import decoder_counts
from secateur.tables import Table

PARTIAL = "partial_training"
#: Per cent of the steps after which training is cut off (Javaheripi et al. 2022, section 4.2: from 1.25 to 87.5 %).
CUTS = (1.25, 2.5, 5.0, 10.0, 20.0, 40.0, 60.0, 87.5)
#: FLOPs of a proxy are counted on this many networks, from the smallest to the largest: counting takes longer than scoring.
COUNTED = 5


@dataclass(frozen=True)
class Score:
    """What a proxy says of one architecture: `score` (more is better), or the reason why there is none.

    `seconds` is what it took, `flops` where they were counted. `settings` is a digest of all that the score depends on
    beside the architecture.
    """

    key: str
    proxy: str
    score: float | None
    seconds: float | None = None
    flops: float | None = None
    failure: str = ""
    settings: str = ""


class ScoreFile:
    """Scores as they are computed, one line each: what was scored is never scored again, whatever happens in between."""

    columns = tuple(field.name for field in fields(Score))

    def __init__(self, path: Path) -> None:
        self.path = path
        text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
        self._begin = "" if text.endswith("\n") else "\n" if text else ",".join(self.columns) + "\n"
        self._known = {(s.key, s.proxy, s.settings): s for s in _read(text.splitlines())}

    def get(self, key: str, proxy: str, settings: str) -> Score | None:
        return self._known.get((key, proxy, settings))

    def add(self, score: Score) -> None:
        """Append a line to the file."""
        line = io.StringIO(newline="")
        csv.writer(line, lineterminator="\n").writerow(["" if v is None else v for v in asdict(score).values()])
        with self.path.open("a", encoding="utf-8", newline="") as file:
            file.write(self._begin + line.getvalue())
        self._begin = ""
        self._known[score.key, score.proxy, score.settings] = score


def _read(lines: Sequence[str]) -> Iterator[Score]:
    """The scores of whole lines; one that was cut off in the middle is left out. Each line is read alone: none spans two."""
    for line in lines[1:]:
        cells = next(csv.reader([line]), [])
        if len(cells) != len(ScoreFile.columns) or not cells[-1]:
            continue
        row = dict(zip(ScoreFile.columns, cells, strict=True))
        numbers = {name: _number(row[name]) for name in ("score", "seconds", "flops")}
        if (numbers["score"] is None) == bool(row["failure"]):
            yield Score(row["key"], row["proxy"], failure=row["failure"], settings=row["settings"], **numbers)


def _number(text: str) -> float | None:
    try:
        return float(text) if math.isfinite(float(text)) else None
    except ValueError:
        return None


class _Network:
    """A row of the table, and what proxies say of its network, which is built when the first of them asks for it."""

    def __init__(self, table: Table, row: int, material: Material) -> None:
        self.architecture, self.key = table.architectures[row], table.keys[row]
        self.table, self.material = table.take([row]), material
        budgets = self.table.budgets.reshape(-1)
        self.steps = budgets[np.isfinite(budgets)]

    def number(self, name: str) -> float | None:
        """What the table says, None where it says nothing."""
        value = float(self.table.column(name)[0])
        return value if math.isfinite(value) else None

    @cached_property
    def built(self) -> Any:
        from secateur.decoders import build

        return build(self.architecture, self.material.sizes, seed=self.material.seed)

    def settings(self, name: str) -> str:
        """A digest of what a score depends on."""
        if name.startswith("partial_"):
            steps = tuple(int(step) for step in self.steps)
            curve = tuple(self.table.curves["curve"][0, : len(steps)].tolist()) if steps else ()
            numbers = (self.number(name) for name in ("tokens", "batch", "length"))
            counts = (n if n is None or not n.is_integer() else int(n) for n in numbers)
            spent = (self.table.seconds_to(self.key), *counts, self.material.vocabulary, self.material.cutoffs)
            return digest("curve", str(steps), str(curve), str(spent), str(self.material.batch.shape[1]))
        if name == "decoder_parameters":
            return digest("count", name)
        given = name == "parameters" and self.material.vocabulary is None
        return digest(self.material.fingerprint, name, str(self.number(name)) if given else "")

    def scored(self, name: str, settings: str, *, flops: bool) -> Score:
        """The score, or its failure; `flops` are counted where asked for."""
        if not name.startswith("partial_") and self.architecture.space != "decoder":
            raise ConfigurationError(
                f"`{name}` needs architectures from the space `decoder`, got one from `{self.architecture.space}`. "
                f"Only {PARTIAL} can be scored on this table."
            )
        try:
            if name.startswith("partial_"):
                found: tuple[float, float | None, float | None] = self._partial(name)
            elif name in COUNTS:
                started = time.perf_counter()
                found = float(COUNTS[name](self)), time.perf_counter() - started, 0.0
            else:
                found = self._low_cost(name, flops)
            return Score(self.key, name, *found, settings=settings)
        except EvaluationFailure as failure:
            reason = first_line(failure)
        except (RuntimeError, MemoryError) as error:  # out of memory, or shapes that a proxy cannot take
            reason = f"{type(error).__name__}: {first_line(error)}"
        return Score(self.key, name, None, failure=reason, settings=settings)

    def _partial(self, name: str) -> tuple[float, float | None, float | None]:
        """Minus the validation loss where training would have been cut off, with its share of the seconds and FLOPs.

        A training step is three forward passes' worth of FLOPs. Tokens are the table's `tokens`, or `batch` × `length` × steps.
        """
        share = float(name.removeprefix("partial_").removesuffix("%")) / 100
        loss = float(self.table.at_share("curve", share)[0])
        steps = self.steps
        if math.isnan(loss):
            first = f"begins at step {steps[0]:.0f} of {steps[-1]:.0f}" if len(steps) else "is empty"
            raise EvaluationFailure(f"the learning curve {first}: it has no finite value at {share:.4g} of the steps.")
        whole = self.table.seconds_to(self.key)
        seconds = None if whole is None else whole * share
        tokens, batch, length = map(self.number, ("tokens", "batch", "length"))
        tokens = tokens or (batch * length * steps[-1] if batch and length else None)
        if tokens is None or self.architecture.space != "decoder" or self.material.vocabulary is None:
            return -loss, seconds, None
        length = int(length or self.material.batch.shape[1])
        forward = 2 * decoder_counts.macs(self.architecture, self.material.sizes, 1, length) / length
        return -loss, seconds, 3 * forward * tokens * share

    def _low_cost(self, name: str, flops: bool) -> tuple[float, float, float | None]:
        import torch

        from secateur.estimators.proxies import cost, score

        network, seed = self.built, self.material.seed
        ids = torch.as_tensor(np.ascontiguousarray(self.material.batch, dtype=np.int64))
        batch = {"input_ids": ids, "labels": ids}
        started = time.perf_counter()
        value = score(name, network, batch, seed=seed)
        seconds = time.perf_counter() - started
        return value, seconds, float(cost(name, network, batch, seed=seed).flops) if flops else None


def _parameters(network: _Network) -> float:
    """Those of the table where they cannot be counted: without a vocabulary."""
    known = network.number("parameters") if network.material.vocabulary is None else None
    return network.material.parameters(network.architecture) if known is None else known


#: Proxies that are counted from the architecture alone: nothing is built.
COUNTS: dict[str, Callable[[_Network], float]] = {
    "decoder_parameters": lambda n: decoder_counts.decoder_parameters(n.architecture),
    "parameters": _parameters,
    "macs": lambda n: decoder_counts.macs(n.architecture, n.material.sizes, *n.material.size),
}
#: The other proxies: scores of a network that is built.
LOW_COST = tuple(
    name for name, q in QUANTITIES.items() if q.direction == "max" and name not in COUNTS and "images" not in q.serves
)


def partial_name(cut: float) -> str:
    """The name under which partial training for `cut` per cent of the steps is shown."""
    return f"partial_{cut:g}%"


def proxy_names(wanted: Iterable[str], cuts: Sequence[float] = CUTS) -> list[str]:
    """The proxies to score: all where none is named. Raises UnknownNameError."""
    known = (*COUNTS, *LOW_COST, PARTIAL)
    chosen = list(dict.fromkeys(wanted)) or list(known)
    for name in chosen:
        if name not in known:
            raise UnknownNameError("proxy", name, known)
    return [part for name in chosen for part in ([partial_name(c) for c in cuts] if name == PARTIAL else [name])]


def score_table(
    table: Table,
    names: Sequence[str],
    material: Material,
    file: ScoreFile,
    *,
    advance: Callable[[int, int], None] = lambda _done, _total: None,
) -> dict[str, list[Score]]:
    """Per proxy, the scores of the rows (one per architecture), in order. Each network is built once for all its proxies.

    A proxy that gives no finite number for a network is a Score with the reason. `advance` is called with (done, total)
    after each network.
    """
    counted = _spread(table)
    found: dict[str, list[Score]] = {name: [] for name in names}
    for row, key in enumerate(table.keys):
        network = _Network(table, row, material)
        for name in names:
            settings = network.settings(name)
            known = file.get(key, name, settings)
            if known is None or (known.flops is None and name in LOW_COST and key in counted and not known.failure):
                known = network.scored(name, settings, flops=key in counted)
                file.add(known)
            # A file of an earlier, smaller table has FLOPs of other networks too.
            found[name].append(known if key in counted or name not in LOW_COST else replace(known, flops=None))
        advance(row + 1, len(table))
    return found


def _spread(table: Table) -> set[str]:
    """Keys of the networks whose FLOPs are counted: evenly from the smallest to the largest."""
    if not all(architecture.space == "decoder" for architecture in table.architectures):
        return set()
    ordered = sorted((decoder_counts.decoder_parameters(a), a.key) for a in table.architectures)
    places = np.linspace(0, len(ordered) - 1, min(COUNTED, len(ordered))).round().astype(int)
    return {ordered[i][1] for i in places}
