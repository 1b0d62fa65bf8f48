"""What the page and the table of a design run show, read from its folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from secateur.catalogue import about
from secateur.paths import quoted
from secateur.report import DesignReportData
from secateur.report.data import Row
from secateur.report.design_rows import summary
from secateur.report.numbers import SPACE, shown_as
from secateur.report.rows import Column, Table
from secateur.runs.design.run import DesignMember, DesignRun
from secateur.runs.reporting import Report, trial_row
from secateur.trial import MEASURED

#: Headings that fit a terminal of 80 columns.
_SHORT = {"decoder_parameters": "decoder", "parameters": "all"}


class DesignReport(Report):
    """The report of a run of `secateur design`."""

    run: DesignRun
    usual_objectives = ("decoder_parameters", "latency")

    def facts(self) -> Row:
        c = self.run.configuration
        return {name: getattr(c, name) for name in ("backbone", "searcher", "trials", "seed")}

    def conditions(self) -> Row:
        c = self.run.configuration
        measured = f"{c.batch} × {c.length} tokens, {c.threads} threads"
        sizes = f"{c.backbone}, {c.vocabulary} words, {c.positions} positions"
        return {"network": sizes, "device": self.run.store.get_meta("device"), "measured": measured}

    def scored_by(self) -> str:
        return self.run.objectives[0].name

    def scored(self, member: DesignMember) -> Row:
        return {"key": member.key, "score": member.values[self.scored_by()], "test": None}

    def data(self) -> DesignReportData:
        run = self.run
        return DesignReportData(
            **self.common(f"{about('backbone', run.configuration.backbone)} decoders for this device"),
            directions={o.name: o.direction for o in run.objectives},
            trials=[{**trial_row(t), "choices": dict(t.architecture.choices)} for t in run.trials if t.origin != MEASURED],
            front=[_member(m) for m in run.front],
            notes=run.notes,
            load_code=self._train("{key}"),
            baselines=run.baselines,
            published=run.published if run.whole else "",
            latency_model=self._model(),
        )

    def _train(self, key: str) -> str:
        return f"secateur train {quoted(self.run.folder)} --key {key} --text my-text --to my-model"

    def _model(self) -> dict[str, Any] | None:
        stored = self.run.latency_model
        if stored is None:
            return None
        report = stored["report"]
        kept = {name: report[name] for name in ("seconds", "networks", "held_out")}
        return {"mean_error": report["mean"], "max_error": report["max"], **kept}

    def table(self, members: Sequence[DesignMember], wide: bool) -> tuple[Table, str, Row | None]:
        """What stands for quality, costs, and how well latency was predicted."""
        names = list(dict.fromkeys([*(o.name for o in self.run.objectives), "parameters"]))
        names += [n for n in ("latency", "memory") if wide and n not in names and any(n in m.values for m in members)]
        columns = [Column("key", "key"), Column("shape", "layers × width")]
        columns += [Column(name, _SHORT.get(name, name.replace("_", " ")), shown_as(name)) for name in names]
        if any("predicted_latency" in m.details for m in members):
            columns.append(Column("predicted_latency", "predicted", "seconds"))
        return (
            Table(columns, [_row(m) for m in members]),
            f"{self.heading(members)}; parameters of the decoder and in total",
            None,
        )

    def plain_row(self, member: DesignMember) -> Row:
        choices, gain = dict(member.architecture.choices), member.gain.as_dict()
        row: Row = {"key": member.key, "trial": member.trial.number, "architecture": str(member.architecture)}
        row |= {f"published_{name}": self.run.whole.get(name) for name in ("latency", "memory", "parameters")}
        row |= {name: gain[name] for name in ("speedup", "memory_smaller", "parameters_smaller")} | dict(member.values)
        row |= {"predicted_latency": member.details.get("predicted_latency"), "latency_measured": member.measured}
        return row | {"choices": choices}

    def lead(self) -> str:
        gain, about = summary(self.data())
        return f"{gain} {about}".replace(SPACE, " ") if about else ""  # the table's heading says how many there are

    def next_step(self) -> str:
        return f"Train:  {self._train('KEY')}"


def _row(member: DesignMember) -> Row:
    choices: dict[str, Any] = dict(member.architecture.choices)
    shape = f"{len(choices['heads'])} × {choices['width']}"
    predicted = member.details.get("predicted_latency")
    return {"key": member.key[:8], "shape": shape, **member.values, "predicted_latency": predicted}


def _member(member: DesignMember) -> dict[str, Any]:
    return {
        "key": member.key,
        "architecture": str(member.architecture),
        "choices": dict(member.architecture.choices),
        "values": dict(member.values),
        "details": dict(member.details),
        "measured": member.measured,
        "predicted_latency": member.details.get("predicted_latency"),
        "gain": member.gain.as_dict(),
        "gain_text": str(member.gain),
    }
