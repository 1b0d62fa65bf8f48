"""What `secateur bench surrogate evaluate` found: figures of every combination, as text, rows and a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from secateur.predictors.curves.assumptions import Residuals
from secateur.predictors.curves.model import compressed
from secateur.predictors.curves.noise import BAND
from secateur.predictors.curves.scores import determination, kendall
from secateur.report.bench_page import Section, courses_figure
from secateur.report.charts import COLOURS, Figure, figure, line, plain_axis
from secateur.report.numbers import finite
from secateur.report.rows import Column
from secateur.report.rows import Table as Shown
from secateur.runs.bench.surrogate.judging import Subject
from secateur.runs.bench.told import Told

if TYPE_CHECKING:
    import pandas

#: The figures as they are headed: at all steps on average, and at the last.
HEADS = {
    "r2": "R²",
    "r2_final": "R², end",
    "kendall": "Kendall's τ",
    "kendall_final": "τ, end",
    "kl": "KL",
    "kl_final": "KL, end",
    "within": "in the band",
    "within_final": "in it, end",
}
#: Networks whose curves are drawn, and steps whose residuals are.
DRAWN, STEPS = 6, 5


@dataclass(frozen=True)
class SurrogateStudy(Told):
    """What `secateur bench surrogate evaluate` found. `frame` has a row per network, metric and model."""

    title = "How surrogates of learning curves compare"
    results, page = "judgements.parquet", "surrogate.html"

    folder: Path
    subject: Subject
    frame: pandas.DataFrame
    noises: Sequence[str]
    notes: list[str] = field(default_factory=list)

    @cached_property
    def _rows(self) -> list[dict[str, Any]]:
        found = []
        names = ["metric", "compressor", "regressor"]
        for asked, part in self.frame.groupby(names, sort=False):
            true, predicted = (np.stack(part[name].to_list()) for name in ("true", "predicted"))
            r2, tau = determination(true, predicted), kendall(true, predicted)
            row: dict[str, Any] = {**dict(zip(names, asked, strict=True)), "networks": len(part)}
            row["components"] = float(part.groupby("fold")["components"].first().mean())
            told = {"r2": np.nanmean(r2), "r2_final": r2[-1], "kendall": np.nanmean(tau), "kendall_final": tau[-1]}
            row |= {name: finite(float(value)) for name, value in told.items()}
            for noise in self.noises:
                several = [values for values in part[f"divergence {noise}"] if values is not None and np.ndim(values)]
                steps = np.stack(several) if several else np.zeros((0, true.shape[1]))
                means = steps.mean(axis=0) if several else np.full(true.shape[1], np.nan)
                diverged = {"kl": finite(float(means.mean())), "kl_final": finite(float(means[-1]))}
                inside = np.average(np.stack(part[f"within {noise}"].to_list()), axis=0, weights=part["trainings"])
                diverged |= {"within": float(inside.mean()), "within_final": float(inside[-1])}
                found.append({**row, "noise": noise, "repeated": len(steps), **diverged})
        return found

    def rows(self) -> list[dict[str, Any]]:
        """A row per metric, compressor, regressor and noise: R², Kendall's τ, the divergence, and the share of trainings within
        the band of nine of ten, on average and at the end."""
        return self._rows

    def as_dict(self) -> dict[str, Any]:
        return {"folder": self.folder, "surrogates": self.rows(), "notes": self.said()}

    def said(self) -> list[str]:
        known, subject = self.subject.known, self.subject
        beside = f" with {', '.join(map(str, subject.reading.features))}" if subject.reading.features else ""
        told = [
            f"{subject.table.name}: {len(known):,} trainings of {len(known.architectures):,} networks, each predicted by "
            f"models of the others ({len(subject.folds)} parts), which read the encoding {subject.reading.encoding}{beside}."
        ]
        told.append(
            "R² and Kendall's τ are of expected curves, so noise does not change them: means over all steps, and at the end."
        )
        told.append(
            "The band is that of the noise alone: trainings are outside also where the expected curve is wrong. 0.9 are within "
            "where neither is."
        )
        if subject.repeated:
            told.append(
                f"KL is the divergence of the trainings of {subject.repeated} networks with several seeds from drawn ones, "
                "both taken to be normal and independent over steps."
            )
        else:
            told.append(
                "There is no divergence (KL): it needs networks that were trained with several seeds, and there is none."
            )
        return [*told, *self.notes]

    def shown(self) -> Shown:
        columns = [Column("metric", "metric")] if len(self.subject.known.metrics) > 1 else []
        columns += [Column(name, name) for name in ("compressor", "regressor", "noise")]
        columns += [Column("components", "numbers", "number"), *(Column(name, head, "score") for name, head in HEADS.items())]
        return Shown(columns, self.rows()).filled("kl", "kl_final")

    @property
    def best(self) -> dict[str, Any]:
        """The row of the first metric with the highest R² on average, and of its models of noise the lowest divergence."""
        mine = [row for row in self.rows() if row["metric"] == self.subject.known.metrics[0]]
        return min(mine, key=lambda row: (-(row["r2"] if row["r2"] is not None else -np.inf), row["kl"] or np.inf))

    def sections(self) -> Iterator[Section]:
        """The table; curves of the best model; and what its noise is like."""
        yield Section("Models", "", self.shown())
        best, budgets = self.best, self.subject.known.budgets
        chosen = (self.frame["compressor"] == best["compressor"]) & (self.frame["regressor"] == best["regressor"])
        mine = self.frame[chosen & (self.frame["metric"] == best["metric"])]
        ends = np.argsort([values[-1] for values in mine["true"]])
        places = ends[np.linspace(0, len(ends) - 1, min(DRAWN, len(ends))).round().astype(int)]
        curves = {}
        for row in (mine.iloc[int(place)] for place in places):
            curves[row["key"]] = _curve(budgets, row, best["noise"], best["metric"])
        name = f"{best['compressor']}-{best['regressor']}-{best['noise']}"
        inside = f"{best['within']:.0%} of the trainings that models have not seen lie in it"
        said = f"From the best to the worst network. By the model of noise nine of ten trainings lie in the band: {inside}."
        yield Section(f"Curves of networks held out, {name}", said, figures=curves)
        yield Section("Residuals", _residuals_said(), figures=self._residuals(best["metric"]))

    def _residuals(self, metric: str) -> dict[str, Figure]:
        """What compressed curves lack of their trainings: histograms, deviations and correlations."""
        known, best = self.subject.known, self.best
        rebuilt = compressed(known, best["compressor"], round(best["components"]), self.subject.seed)
        found = Residuals((known.curves - rebuilt)[:, known.metrics.index(metric)])
        steps = np.unique(np.linspace(0, len(known.budgets) - 1, STEPS).round().astype(int))
        traces = []
        for number, step in enumerate(steps.tolist()):
            bars, ends = found.histogram(step)
            look = {"color": COLOURS[number % len(COLOURS)], "shape": "hvh"}
            traces.append(line(((ends[1:] + ends[:-1]) / 2).tolist(), bars.tolist(), look, name=f"{known.budgets[step]:g}"))
        band = BAND * found.deviations()
        zero = np.zeros(len(known.budgets))
        lags = np.arange(len(known.budgets))
        correlation = found.autocorrelation()
        return {
            "at some budgets": figure(traces, xaxis=plain_axis("residual"), yaxis=plain_axis("density"), showlegend=True),
            "nine of ten": courses_figure({metric: (known.budgets, zero, -band, band)}, "budget", "residual"),
            "autocorrelation": courses_figure(
                {metric: (lags, correlation, correlation, correlation)}, "points apart", "correlation"
            ),
        }


def _residuals_said() -> str:
    return (
        "What compression lacks of trainings. The models of noise take it to be normal (histograms), alike for all networks, "
        "and, but for the kernel density, independent from point to point (autocorrelation)."
    )


def _curve(budgets: np.ndarray, row: Any, noise: str, metric: str) -> Figure:
    true, predicted, deviation = (np.asarray(row[name], dtype=float) for name in ("true", "predicted", f"deviation {noise}"))
    series = {"predicted": (budgets, predicted, predicted - BAND * deviation, predicted + BAND * deviation)}
    series["true"] = (budgets, true, true, true)
    return courses_figure(series, "budget", metric)
