"""What `secateur bench proxies` found: as text, as CSV files and as a page."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from secateur.errors import MissingExtraError
from secateur.report.numbers import MISSING, show
from secateur.report.proxies_page import TITLE, proxies_html
from secateur.report.rows import Column
from secateur.report.rows import Table as Shown
from secateur.report.terminal import say
from secateur.report.text_table import print_table, table_blocks
from secateur.runs.bench.judging import COSTS, TRUE, Judged, figures
from secateur.runs.bench.material import Material
from secateur.runs.bench.scoring import Score
from secateur.tables import Ceiling, Ranking, Table
from secateur.writing import whole, write_whole

SCORES, RANKING, FRONTS, SUMMARY, PAGE = "scores.csv", "ranking.csv", "fronts.csv", "proxies.csv", "proxies.html"
_HEADER = ["proxy", "networks", "Spearman", "95 %", "Kendall", "best 20 %"]
_HEADER += ["common 10 %", "common 20 %", "common 50 %", "FLOPs", "time"]


@dataclass(frozen=True)
class ProxyStudy:
    """What `secateur bench proxies` found. `table` has one row per proxy; the files lie in `folder`."""

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
        costs = [cost for cost in COSTS if any(cost in proxy.fronts for proxy in self.judged)]
        header = [*_HEADER, *(f"front found ({cost})" for cost in costs), *(f"gap ({cost})" for cost in costs)]
        return header, [_cells(proxy, costs) for proxy in self.judged]

    def rows(self) -> list[dict[str, Any]]:
        return self.table

    def as_dict(self) -> dict[str, Any]:
        """All that was found: a row per proxy, per proxy and bin, and per proxy and cost."""
        found = {"proxies": self.table, "ranking": self.ranking, "fronts": self.fronts, "ceiling": asdict(self.ceiling)}
        return {"folder": self.folder, **found, "notes": self.notes}

    @property
    def ranking(self) -> list[dict[str, Any]]:
        return [
            {"proxy": j.name, "share": r.share, "networks": r.count, **figures(r, "spearman", "kendall", "common_ratio")}
            for j in self.judged
            for r in j.rankings
        ]

    @property
    def fronts(self) -> list[dict[str, Any]]:
        return [{"proxy": j.name, "cost": cost, **asdict(front)} for j in self.judged for cost, front in j.fronts.items()]

    def __str__(self) -> str:
        return "\n".join([*table_blocks(self._shown())[0], "", *self.notes, self._written()])

    def show(self) -> None:
        print_table(self._shown(), TITLE)
        say()
        for note in self.notes:
            say(note)
        say(self._written(), whole=True)

    def _shown(self) -> Shown:
        header, rows = self.cells()
        columns = [Column(name, name, "score" if i else "text") for i, name in enumerate(header)]
        return Shown(columns, [dict(zip(header, row, strict=True)) for row in rows])

    def _written(self) -> str:
        page = self.folder / PAGE
        return f"Written: {page if page.exists() else self.folder}"

    def write(self, table: Table, scores: Mapping[str, Sequence[Score]]) -> None:
        """The CSV files and the page, beside the scores of the table's networks."""
        for name, lines in ((RANKING, self.ranking), (FRONTS, self.fronts), (SUMMARY, self.table)):
            _csv(self.folder / name, lines)
        true = table.column(TRUE).tolist()
        scatters = {}
        for name, found in scores.items():
            pairs = [(s.score, value) for s, value in zip(found, true, strict=True) if s.score is not None]
            scatters[name] = [s for s, _ in pairs], [value for _, value in pairs]
        correlations, ratios = (
            {j.name: [(r.share * 100, getattr(r, measure)) for r in j.rankings] for j in self.judged}
            for measure in ("spearman", "common_ratio")
        )
        try:
            page = proxies_html(TITLE, self.notes, *self.cells(), correlations, ratios, scatters)
        except MissingExtraError as error:  # what took long is in the other files
            self.notes.append(f"No page was written: {error}")
            return
        write_whole(page, self.folder / PAGE)


def notes(table: Table, networks: Table, material: Material, judged: Sequence[Judged]) -> list[str]:
    """What a reader must know of the figures. `networks` is the table with one row per architecture."""
    sources = ", ".join(f"{(networks.source == s).sum()} {s}" for s in table.sources)
    said = [
        f"{len(networks)} architectures ({sources}), {len(table)} training runs; several runs of one are averaged. "
        "A positive correlation means that networks the proxy prefers have lower perplexity.",
        f"Proxies see {material.data}. Best k %: by perplexity; common k %: the share of the proxy's best k % that is truly "
        "among them.",
    ]
    if any(j.name.startswith("partial_") for j in judged):
        said.append(
            "Partial training: the validation loss of the same training at that share of its steps, between recorded steps "
            "on a straight line."
        )
    ceiling = table.ceiling(TRUE)
    if ceiling.spearman is not None:
        said.append(
            f"Noise ceiling: {ceiling.pairs} architectures trained twice rank with Spearman {ceiling.spearman:.3f}, "
            f"Kendall {ceiling.kendall or 0:.3f} between the seeds."
        )
    for proxy in judged:
        if proxy.failures:
            failed = sum(proxy.failures.values())
            more = f" (and {len(proxy.failures) - 1} other reasons: see {SUMMARY})" if len(proxy.failures) > 1 else ""
            said.append(f"{proxy.name}: no score for {failed} of {len(networks)} networks: {next(iter(proxy.failures))}{more}")
    return said


def _cells(proxy: Judged, costs: Sequence[str]) -> list[str]:
    found, by_share = proxy.overall, {round(r.share, 2): r for r in proxy.rankings}
    interval = found.spearman_interval if found else None
    row = [proxy.name, str(proxy.networks), _figure(found, "spearman"), str(interval or MISSING), _figure(found, "kendall")]
    row += [_figure(by_share.get(0.2), "spearman"), *(_figure(by_share.get(s), "common_ratio", 2) for s in (0.1, 0.2, 0.5))]
    row += [show(proxy.flops, "count"), show(proxy.seconds, "seconds")]
    fronts = [proxy.fronts.get(cost) for cost in costs]
    row += [f"{f.found:.0%} of {f.members}" if f else MISSING for f in fronts]
    return row + [f"{f.gap:.2%}" if f else MISSING for f in fronts]


def _figure(found: Ranking | None, name: str, digits: int = 3) -> str:
    value = getattr(found, name, None)
    return MISSING if value is None else f"{value:.{digits}f}"


def _csv(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    if not rows:
        path.unlink(missing_ok=True)  # an older run's would be taken for this one's
        return
    with whole(path) as draft, draft.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
