"""`secateur proxies`: how well proxies rank architectures that were trained."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from secateur.errors import ConfigurationError, DataError
from secateur.report.numbers import MISSING, show
from secateur.report.proxies_page import proxies_html
from secateur.rng import generator
from secateur.runs.progress import Progress
from secateur.tables import Ceiling, FrontAccuracy, Ranking, Trained, TrainedTable, front_accuracy, rank, read_trained
from secateur.tables.scoring import CUTS, Score, ScoreFile, Setup, proxy_names, score_table

SCORES, RANKING, FRONTS, SUMMARY, PAGE = "scores.csv", "ranking.csv", "fronts.csv", "proxies.csv", "proxies.html"
#: What a proxy's front is compared over, where the table has it.
COSTS = ("latency", "memory")


@dataclass(frozen=True)
class Judged:
    """One proxy: its rankings by bin (the last is of all networks), its fronts by cost, and what a score costs.

    `flops` and `seconds` are means per network; `counted` says over how many networks the FLOPs were counted.
    """

    name: str
    networks: int
    rankings: list[Ranking]
    fronts: dict[str, FrontAccuracy]
    flops: float | None
    counted: int
    seconds: float | None
    failures: dict[str, int] = field(default_factory=dict)

    @property
    def overall(self) -> Ranking | None:
        return self.rankings[-1] if self.rankings else None

    def as_dict(self) -> dict[str, Any]:
        """One row of the table."""
        found, failed = self.overall, sum(self.failures.values())
        row: dict[str, Any] = {"proxy": self.name, "networks": self.networks}
        for name in ("spearman", "kendall"):
            row[name] = getattr(found, name, None)
            interval = getattr(found, f"{name}_interval", None)
            row |= {f"{name}_low": getattr(interval, "low", None), f"{name}_high": getattr(interval, "high", None)}
        reason = "; ".join(f"{count} × {why}" for why, count in self.failures.items())
        return {**row, "flops": self.flops, "seconds": self.seconds, "failed": failed, "reason": reason}


@dataclass(frozen=True)
class ProxyStudy:
    """What `secateur proxies` found. `table` has one row per proxy; the files lie in `folder`."""

    folder: Path
    judged: list[Judged]
    ceiling: Ceiling
    notes: list[str]

    @property
    def table(self) -> list[dict[str, Any]]:
        return [proxy.as_dict() for proxy in self.judged]

    def __getitem__(self, name: str) -> Judged:
        return next(proxy for proxy in self.judged if proxy.name == name)

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows as text."""
        header = [
            "proxy",
            "networks",
            "Spearman",
            "95 %",
            "Kendall",
            "best 20 %",
            "common 10 %",
            "20 %",
            "50 %",
            "FLOPs",
            "time",
        ]
        costs = [cost for cost in COSTS if any(cost in proxy.fronts for proxy in self.judged)]
        header += [f"front found ({cost})" for cost in costs] + [f"gap ({cost})" for cost in costs]
        return header, [self._row(proxy, costs) for proxy in self.judged]

    def _row(self, proxy: Judged, costs: Sequence[str]) -> list[str]:
        found, by_share = proxy.overall, {round(r.share, 2): r for r in proxy.rankings}
        interval = found.spearman_interval if found else None
        row = [proxy.name, str(proxy.networks), _figure(found, "spearman"), str(interval or MISSING), _figure(found, "kendall")]
        row += [_figure(by_share.get(0.2), "spearman"), *(_figure(by_share.get(s), "common_ratio", 2) for s in (0.1, 0.2, 0.5))]
        row += [show(proxy.flops, "count"), show(proxy.seconds, "seconds")]
        fronts = [proxy.fronts.get(cost) for cost in costs]
        row += [f"{f.found:.0%} of {f.members}" if f else MISSING for f in fronts]
        return row + [f"{f.gap:.2%}" if f else MISSING for f in fronts]

    def __str__(self) -> str:
        header, rows = self.cells()
        widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
        lines = [
            "  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
            for row in [header, *rows]
        ]
        return "\n".join([*lines, "", *self.notes, f"Written: {self.folder / PAGE}"])


def proxies(
    table: Annotated[Path, typer.Argument(help="Trained architectures: a Parquet, CSV or JSON-lines file.")],
    *,
    to: Annotated[
        Path, typer.Option(help="Folder for scores, rankings and the page; scores that are there are not computed again.")
    ],
    proxy: Annotated[
        list[str] | None, typer.Option(help="A proxy, or partial_training; repeat it for several. All by default.")
    ] = None,
    source: Annotated[
        list[str] | None, typer.Option(help="Only rows of this source (random, homogeneous, search, …); repeat it for several.")
    ] = None,
    partial: Annotated[
        list[float] | None,
        typer.Option(help="Per cent of the steps for partial training; repeat it. From 1.25 to 87.5 by default."),
    ] = None,
    text: Annotated[
        str | None, typer.Option(help="Real text for the proxies that need data: a file or a folder. Random tokens without it.")
    ] = None,
    tokenizer: Annotated[str | None, typer.Option(help="The text's tokenizer; without it one is trained on the text.")] = None,
    vocabulary: Annotated[
        int | None, typer.Option(help="Tokens of the networks; by default the table's column `vocabulary`.")
    ] = None,
    batch: Annotated[int, typer.Option(help="Texts in the batch that proxies see.")] = 16,
    length: Annotated[int, typer.Option(help="Tokens per text.")] = 64,
    seed: Annotated[int, typer.Option(help="Of initial weights, batch and bootstrap.")] = 0,
    progress: Annotated[bool, typer.Option("--progress/--quiet", help="Show progress.")] = True,
) -> ProxyStudy:
    """Score trained architectures by every proxy, and tell how well each ranks them and what it costs.

    Raises ConfigurationError for settings out of range or unknown proxies, DataError for a table or text that cannot be used.
    """
    to = Path(to)
    names = proxy_names(proxy or (), partial or CUTS)
    sizes = (
        ("batch", batch, 2),
        ("length", length, 2),
        ("vocabulary", 2 if vocabulary is None else vocabulary, 2),
        ("seed", seed, 0),
    )
    faults = [f"`{name}` must be at least {least}, got {value}." for name, value, least in sizes if value < least]
    if tokenizer is not None and text is None:
        faults.append("`tokenizer` is for a text: give --text too.")
    if to.exists() and not to.is_dir():
        faults.append(f"`{to}` is a file: --to takes a folder.")
    if faults:
        raise ConfigurationError(faults)
    read = read_trained(table)
    chosen = read.only(source) if source else read
    rows = chosen.averaged()
    try:
        to.mkdir(parents=True, exist_ok=True)
        (to / f"{PAGE}.unfinished").touch()
        (to / f"{PAGE}.unfinished").unlink()
    except OSError as error:
        raise _unwritable(to, error) from error
    setup = make_setup(chosen, text, tokenizer, vocabulary, batch, length, seed)
    try:
        with Progress(progress).bar("scoring networks") as advance:
            scores = score_table(rows, names, setup, ScoreFile(to / SCORES), advance=advance)
    except OSError as error:
        raise _unwritable(to, error, f"What was scored is in {SCORES}: the same command goes on from there.") from error
    judged = [judge(name, rows, scores[name], seed) for name in names]
    study = ProxyStudy(to, judged, chosen.ceiling(), notes(chosen, rows, setup, judged))
    try:
        _write(study, rows, scores)
    except OSError as error:
        typer.echo(str(study).rpartition("\n")[0])  # without its last line, which says where the page is
        raise _unwritable(to, error, "What was found is printed instead.") from error
    return study


def _unwritable(to: Path, error: OSError, more: str = "") -> ConfigurationError:
    return ConfigurationError(f"`to` cannot be written: `{to}`: {(error.strerror or str(error)).lower()}. {more}".rstrip())


def make_setup(
    table: TrainedTable, text: str | None, tokenizer: str | None, vocabulary: int | None, batch: int, length: int, seed: int
) -> Setup:
    """What networks are built and scored with: sizes from the table where it says them, tokens from the text or drawn."""
    known = vocabulary or _agreed(table, "vocabulary")
    positions = _agreed(table, "positions") or 1024
    rng = generator(seed, "batch")
    if text is None:
        ids = rng.integers(0, known or 2, size=(batch, length))
        return Setup(ids, f"random tokens (seed {seed})", known, positions, _cutoffs(table), seed)
    from secateur.checkpoints.tokenizers import load_tokenizer
    from secateur.tasks.text import load_text, token_ids
    from secateur.tasks.tokenizers import check_fits, train_tokenizer

    said = load_text(text).train
    if known is None and tokenizer is None:
        raise ConfigurationError("`vocabulary` must be given: the table has no column of that name. Use --vocabulary.")
    reader = load_tokenizer(tokenizer) if tokenizer is not None else train_tokenizer(said, known or 0)
    known = known or len(reader)
    check_fits(reader, known)
    # A few million characters hold enough texts to draw from.
    tokens = token_ids(said[:4_000_000], reader)
    if len(tokens) < length:
        raise DataError(
            f"`{text}` has {len(tokens)} tokens, fewer than one text of {length}. Give more text, or a smaller --length."
        )
    starts = rng.integers(0, len(tokens) - length + 1, size=batch)
    ids = np.stack([tokens[start : start + length] for start in starts]).astype(np.int64)
    return Setup(ids, f"{batch} texts of {length} tokens from `{text}`", known, positions, _cutoffs(table), seed)


def _agreed(table: TrainedTable, name: str) -> int | None:
    """A whole number that the table's further columns give, alike in every row."""
    found = {row.extra.get(name) for row in table}
    if found == {None}:
        return None
    if len(found) > 1 or not all(isinstance(v, int | float | np.integer) and v == int(v) for v in found if v is not None):
        raise DataError(f"`{table.where}`: `{name}` must be one whole number for all rows, got {sorted(map(str, found))[:4]}.")
    return int(next(iter(found)))  # type: ignore[arg-type]


def _cutoffs(table: TrainedTable) -> tuple[int, ...] | None:
    """The clusters' ends that the table's column `cutoffs` (a list, or its JSON) gives; None where there is none."""
    import json

    given = next((row.extra["cutoffs"] for row in table if "cutoffs" in row.extra), None)
    if given is None:
        return None
    try:
        return tuple(int(c) for c in (json.loads(given) if isinstance(given, str) else given))
    except (TypeError, ValueError):
        raise DataError(f"`{table.where}`: `cutoffs` must be a list of whole numbers, got `{given}`.") from None


def judge(name: str, rows: Sequence[Trained], scores: Sequence[Score], seed: int) -> Judged:
    """How one proxy ranks the networks that it has a score for."""
    pairs = [(row, s) for row, s in zip(rows, scores, strict=True) if s.score is not None]
    failures: dict[str, int] = {}
    for score in scores:
        if score.score is None:
            failures[score.failure] = failures.get(score.failure, 0) + 1
    true = np.array([row.perplexity for row, _ in pairs])
    values = np.array([s.score for _, s in pairs], dtype=np.float64)
    rankings = rank(true, values, rng=generator(seed, "bootstrap", name)) if pairs else []
    fronts = {}
    for cost in COSTS:
        known = [i for i, (row, _) in enumerate(pairs) if getattr(row, cost) is not None]
        found = (
            front_accuracy(true[known], values[known], np.array([getattr(pairs[i][0], cost) for i in known])) if known else None
        )
        if found is not None:
            fronts[cost] = found
    flops = [s.flops for _, s in pairs if s.flops is not None]
    seconds = [s.seconds for _, s in pairs if s.seconds is not None]
    return Judged(
        name,
        len(pairs),
        rankings,
        fronts,
        float(np.mean(flops)) if flops else None,
        len(flops),
        float(np.mean(seconds)) if seconds else None,
        failures,
    )


def notes(table: TrainedTable, rows: Sequence[Trained], setup: Setup, judged: Sequence[Judged]) -> list[str]:
    """What a reader must know of the figures."""
    sources = ", ".join(f"{sum(r.source == s for r in rows)} {s}" for s in table.sources)
    said = [
        f"{len(rows)} architectures ({sources}), {len(table)} trainings; several trainings of one are averaged. "
        "A positive correlation: what the proxy likes has the lower perplexity.",
        f"Proxies see {setup.data}. Best k %: by perplexity; common k %: the share of the proxy's best k % that is truly "
        "among them.",
    ]
    if any(j.name.startswith("partial_") for j in judged):
        said.append(
            "Partial training: the validation loss of the same training at that share of its steps, between recorded steps "
            "on a straight line."
        )
    ceiling = table.ceiling()
    if ceiling.spearman is not None:
        said.append(
            f"Noise ceiling: {ceiling.pairs} architectures trained twice rank with Spearman {ceiling.spearman:.3f}, "
            f"Kendall {ceiling.kendall or 0:.3f} between the seeds."
        )
    for proxy in judged:
        if proxy.failures:
            failed = sum(proxy.failures.values())
            more = f" (and {len(proxy.failures) - 1} other reasons: see {SUMMARY})" if len(proxy.failures) > 1 else ""
            said.append(f"{proxy.name}: no score for {failed} of {len(rows)} networks: {next(iter(proxy.failures))}{more}")
    return said


def _figure(found: Ranking | None, name: str, digits: int = 3) -> str:
    value = getattr(found, name, None)
    return MISSING if value is None else f"{value:.{digits}f}"


def _write(study: ProxyStudy, rows: Sequence[Trained], scores: dict[str, list[Score]]) -> None:
    ranking, fronts = [], []
    for proxy in study.judged:
        for found in proxy.rankings:
            row: dict[str, Any] = {"proxy": proxy.name, "share": found.share, "networks": found.count}
            for name in ("spearman", "kendall", "common_ratio"):
                interval = getattr(found, f"{name}_interval")
                low, high = (interval.low, interval.high) if interval else (None, None)
                row |= {name: getattr(found, name), f"{name}_low": low, f"{name}_high": high}
            ranking.append(row)
        fronts += [{"proxy": proxy.name, "cost": cost, **vars(front)} for cost, front in proxy.fronts.items()]
    for name, lines in ((RANKING, ranking), (FRONTS, fronts), (SUMMARY, study.table)):
        _csv(study.folder / name, lines)
    by_key = {row.key: row.perplexity for row in rows}
    scatters = {
        name: ([s.score for s in found if s.score is not None], [by_key[s.key] for s in found if s.score is not None])
        for name, found in scores.items()
    }
    lines_of = {
        measure: {j.name: [(r.share * 100, getattr(r, measure)) for r in j.rankings] for j in study.judged}
        for measure in ("spearman", "common_ratio")
    }
    page = proxies_html(
        "How proxies rank", study.notes, *study.cells(), lines_of["spearman"], lines_of["common_ratio"], scatters
    )
    (study.folder / PAGE).write_text(page, encoding="utf-8")


def _csv(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    if not rows:
        path.unlink(missing_ok=True)  # an older run's would be taken for this one's
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
