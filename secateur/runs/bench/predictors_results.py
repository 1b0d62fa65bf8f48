"""What `secateur bench predictors` found: correlations, errors and calibration, as text, rows and a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.report.bench_page import Section, around, courses_figure
from secateur.report.charts import Figure
from secateur.report.numbers import spread
from secateur.report.rows import Column
from secateur.report.rows import Table as Shown
from secateur.runs.bench.predicting import FIGURES, Subject
from secateur.runs.bench.ranks import summarised
from secateur.runs.bench.told import Told

if TYPE_CHECKING:
    import pandas

#: The figures as they are headed.
HEADS = dict(zip(FIGURES, ("Spearman", "Kendall", "Pearson", "RMSE", "NLL", "within 1 σ", "within 2 σ", "time"), strict=True))
#: Those that are drawn over the number of networks learnt from.
DRAWN = ("spearman", "kendall", "rmse", "within_1", "seconds")


@dataclass(frozen=True)
class PredictorStudy(Told):
    """What `secateur bench predictors` found. `frame` has a row per fit: what was asked for, and how it did."""

    title = "How predictors compare"
    results, page = "predictions.parquet", "predictors.html"

    folder: Path
    subjects: Sequence[Subject]
    frame: pandas.DataFrame
    notes: list[str] = field(default_factory=list)

    def rows(self) -> list[dict[str, Any]]:
        """A row per table, predictor, encoding and number of networks learnt from: means over seeds and standard errors."""
        found = []
        names = ["table", "predictor", "encoding", "train"]
        for asked, fits in self.frame.groupby(names, sort=False):
            row: dict[str, Any] = dict(zip(names, asked, strict=True))
            row |= {"train": int(row["train"]), "seeds": len(fits)}
            found.append({**row, **summarised(fits, FIGURES)})
        return found

    def as_dict(self) -> dict[str, Any]:
        """A row per table, predictor, encoding and number of networks learnt from, and notes."""
        return {"folder": self.folder, "predictions": self.rows(), "notes": self.said()}

    def said(self) -> list[str]:
        """What a reader must know of the figures."""
        told = []
        for one in self.subjects:
            shown = ", ".join(map(str, one.features))
            beside = f", beside architectures shown {shown}" if shown else ""
            told.append(f"{one.name}: {one.target} of {one.test:,} networks held out, out of {len(one.values):,}{beside}.")
            if one.unknown:
                told.append(f"{one.name}: {one.unknown:,} networks without known values were left out.")
        if failed := int(self.frame["rmse"].isna().sum()):
            told.append(f"{failed} of {len(self.frame)} fits failed, and are in no mean.")
        told.append(
            "Means over seeds ± standard errors. RMSE and NLL, the mean negative log-likelihood, are in the target's own unit; "
            "of a normal distribution 0.683 and 0.954 lie within one and two deviations σ; time is the median "
            "of a fit and the test."
        )
        return [*told, *self.notes]

    def shown(self) -> Shown:
        columns = [Column("table", "table")] if len(self.subjects) > 1 else []
        columns += [Column("train", "train", "integer"), Column("predictor", "predictor"), Column("encoding", "encoding")]
        columns += [Column(name, head, "seconds" if name == "seconds" else "score") for name, head in HEADS.items()]
        lines = []
        for row in sorted(self.rows(), key=lambda r: r["train"]):
            line = {name: row[name] for name in ("table", "train", "predictor", "encoding", "seconds")}
            lines.append({**line, **{name: spread(row[name], row[f"{name}_error"]) for name in FIGURES[:-1]}})
        return Shown(columns, lines)

    def sections(self) -> Iterator[Section]:
        """The table, and for each figure learning curves on each table with each encoding."""
        yield Section("Predictors", "", self.shown())
        rows = self.rows()
        for name in DRAWN:
            pairs = dict.fromkeys((row["table"], row["encoding"]) for row in rows)
            curves = {}
            for pair in pairs:
                mine = [row for row in rows if (row["table"], row["encoding"]) == pair]
                curves[f"{pair[1]} of {pair[0]}"] = _curves(mine, name, list(dict.fromkeys(row["predictor"] for row in rows)))
            yield Section(f"{HEADS[name]} over networks learnt from", "Bands are standard errors.", figures=curves)


def _curves(rows: Sequence[dict[str, Any]], name: str, order: Sequence[str]) -> Figure:
    """A line per predictor; `order` has all of them."""
    series = {}
    for predictor in order:
        mine = [row for row in rows if row["predictor"] == predictor]
        at, means, errors = (np.array([row[n] for row in mine], dtype=float) for n in ("train", name, f"{name}_error"))
        if mine:
            series[predictor] = (at, *around(means, errors))
    y = "seconds" if name == "seconds" else HEADS[name]
    return courses_figure(series, "networks learnt from", y, order, log=name == "seconds")
