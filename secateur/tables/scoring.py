"""Scores of every architecture of a table, by low-cost proxies, counts and the beginnings of its learning curves."""

from __future__ import annotations

import csv
import io
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from secateur.architecture import digest
from secateur.errors import ConfigurationError, EvaluationFailure, UnknownNameError
from secateur.spaces import decoder_counts
from secateur.spaces.decoder_sizes import Sizes
from secateur.tables.trained import Trained

#: Counted from the architecture alone: nothing is built.
COUNTS = ("decoder_parameters", "parameters", "macs")
#: The low-cost proxies of `secateur.estimators.proxies`, named here so that help needs no torch; a test keeps them equal.
LOW_COST = (
    "grad_norm",
    "snip",
    "grasp",
    "fisher",
    "synflow",
    "jacob_cov",
    "relu_log_det",
    "naswot",
    "l2_norm",
    "decoder_macs",
)
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


@dataclass(frozen=True)
class Setup:
    """What networks are built and scored with. `batch`: token ids (examples, length). `data` says where those come from.

    `vocabulary` None: unknown, so that only what needs none can be scored. `cutoffs` None: those of the vocabulary's size.
    """

    batch: np.ndarray
    data: str
    vocabulary: int | None
    positions: int = 1024
    cutoffs: tuple[int, ...] | None = None
    seed: int = 0

    @property
    def fingerprint(self) -> str:
        tokens = np.ascontiguousarray(self.batch, dtype=np.int64)
        sizes = (self.batch.shape, self.vocabulary, self.positions, self.cutoffs, self.seed)
        return digest("proxies 1", str(sizes), tokens.tobytes())

    @property
    def sizes(self) -> Sizes:
        if self.vocabulary is None:
            raise ConfigurationError("`vocabulary` must be given: the table has no column of that name. Use --vocabulary.")
        return Sizes(vocabulary=self.vocabulary, positions=self.positions, cutoffs=self.cutoffs)


def partial_name(cut: float) -> str:
    """The name under which partial training for `cut` per cent of the steps is shown."""
    return f"partial_{cut:g}%"


def proxy_names(wanted: Iterable[str], cuts: Sequence[float] = CUTS) -> list[str]:
    """The proxies to score: all where none is named. Raises UnknownNameError, ConfigurationError for cuts out of range."""
    bad = [cut for cut in cuts if not 0 < cut <= 100]
    if bad:
        raise ConfigurationError(f"`partial` must lie above 0 and at most at 100 (per cent of the steps), got {bad[0]:g}.")
    known = (*COUNTS, *LOW_COST, PARTIAL)
    chosen = list(dict.fromkeys(wanted)) or list(known)
    for name in chosen:
        if name not in known:
            raise UnknownNameError("proxy", name, known)
    return [part for name in chosen for part in ([partial_name(c) for c in cuts] if name == PARTIAL else [name])]


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


def score_table(
    rows: Sequence[Trained],
    names: Sequence[str],
    setup: Setup,
    file: ScoreFile,
    *,
    advance: Callable[[int, int], None] = lambda _done, _total: None,
) -> dict[str, list[Score]]:
    """Per proxy, the scores of the rows (one per architecture), in order. Each network is built once for all its proxies.

    A proxy that gives no finite number for a network is a Score with the reason. `advance` is called with (done, total)
    after each network.
    """
    counted = _spread(rows)
    found: dict[str, list[Score]] = {name: [] for name in names}
    for number, row in enumerate(rows, 1):
        network = _Lazy(row, setup)
        for name in names:
            settings = _settings(name, row, setup)
            known = file.get(row.key, name, settings)
            if known is None or (known.flops is None and name in LOW_COST and row.key in counted and not known.failure):
                known = _scored(name, row, setup, network, settings, flops=row.key in counted)
                file.add(known)
            found[name].append(known)
        advance(number, len(rows))
    return found


def _settings(name: str, row: Trained, setup: Setup) -> str:
    if name.startswith("partial_"):
        spent = (row.train_seconds, *(row.extra.get(n) for n in ("tokens", "batch", "length")), setup.vocabulary, setup.cutoffs)
        return digest("curve", str(row.steps), str(row.curve), str(spent), str(setup.batch.shape[1]))
    if name == "decoder_parameters":
        return digest("count", name)
    return digest(setup.fingerprint, name, str(row.parameters) if name == "parameters" else "")


def _spread(rows: Sequence[Trained]) -> set[str]:
    """Keys of the networks whose FLOPs are counted: evenly from the smallest to the largest."""
    if not all(row.architecture.space == "decoder" for row in rows):
        return set()
    ordered = sorted(rows, key=lambda row: (decoder_counts.decoder_parameters(row.architecture), row.key))
    places = np.linspace(0, len(ordered) - 1, min(COUNTED, len(ordered))).round().astype(int)
    return {ordered[i].key for i in places}


class _Lazy:
    """A network that is built when the first proxy asks for it."""

    def __init__(self, row: Trained, setup: Setup) -> None:
        self._row, self._setup = row, setup
        self._network: Any = None

    def __call__(self) -> Any:
        if self._network is None:
            from secateur.decoders import build

            setup = self._setup
            self._network = build(
                self._row.architecture,
                replace(setup.sizes, positions=max(setup.positions, setup.batch.shape[1])),
                seed=setup.seed,
            )
        return self._network


def _scored(name: str, row: Trained, setup: Setup, network: _Lazy, settings: str, *, flops: bool) -> Score:
    if not name.startswith("partial_") and row.architecture.space != "decoder":
        raise ConfigurationError(
            f"`{name}` needs architectures of the space `decoder`, got one of `{row.architecture.space}`. "
            f"Only {PARTIAL} can be scored on this table."
        )
    try:
        if name.startswith("partial_"):
            return Score(row.key, name, *_partial(name, row, setup), settings=settings)
        if name in COUNTS:
            return Score(row.key, name, *_count(name, row, setup), settings=settings)
        return Score(row.key, name, *_low_cost(name, setup, network(), flops), settings=settings)
    except EvaluationFailure as failure:
        return Score(row.key, name, None, failure=_line(failure), settings=settings)
    except (RuntimeError, MemoryError) as error:  # out of memory, or shapes that a proxy cannot take
        return Score(row.key, name, None, failure=f"{type(error).__name__}: {_line(error)}", settings=settings)


def _count(name: str, row: Trained, setup: Setup) -> tuple[float, float, float]:
    """A count with its seconds and FLOPs (none). `parameters` are those of the table where it has them."""
    started = time.perf_counter()
    if name == "decoder_parameters":
        value = float(decoder_counts.decoder_parameters(row.architecture))
    elif name == "parameters" and row.parameters is not None:
        value = row.parameters
    elif name == "parameters":
        value = float(decoder_counts.parameters(row.architecture, setup.sizes))
    else:
        batch, length = setup.batch.shape
        value = float(decoder_counts.macs(row.architecture, setup.sizes, batch, length))
    return value, time.perf_counter() - started, 0.0


def _partial(name: str, row: Trained, setup: Setup) -> tuple[float, float | None, float | None]:
    """Minus the validation loss where training would have been cut off, with its share of the seconds and FLOPs.

    A training step is three forward passes' worth of FLOPs. Tokens are the table's `tokens`, or `batch` × `length` × steps.
    """
    share = float(name.removeprefix("partial_").removesuffix("%")) / 100
    loss = row.loss_at(share)
    if loss is None:
        first = f"begins at step {row.steps[0]} of {row.steps[-1]}" if row.steps else "is empty"
        raise EvaluationFailure(f"the learning curve {first}: it has no finite value at {share:.4g} of the steps.")
    seconds = None if row.train_seconds is None else row.train_seconds * share
    tokens = _tokens(row.extra, row.steps[-1])
    if tokens is None or row.architecture.space != "decoder" or setup.vocabulary is None:
        return -loss, seconds, None
    length = int(_number(row.extra.get("length")) or setup.batch.shape[1])
    forward = 2 * decoder_counts.macs(row.architecture, setup.sizes, 1, length) / length
    return -loss, seconds, 3 * forward * tokens * share


def _tokens(extra: Mapping[str, Any], steps: int) -> float | None:
    batch, length = _number(extra.get("batch")), _number(extra.get("length"))
    return _number(extra.get("tokens")) or (batch * length * steps if batch and length else None)


def _low_cost(name: str, setup: Setup, network: Any, flops: bool) -> tuple[float, float, float | None]:
    import torch

    from secateur.estimators.proxies import PROXIES, cost, score

    ids = torch.as_tensor(np.ascontiguousarray(setup.batch, dtype=np.int64))
    batch = {"input_ids": ids, "labels": ids}
    started = time.perf_counter()
    value = score(name, network, batch, seed=setup.seed)
    seconds = time.perf_counter() - started
    counted = float(cost(name, network, batch, seed=setup.seed).flops) if flops else None
    return value if PROXIES[name].direction == "max" else -value, seconds, counted


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _line(error: BaseException) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
