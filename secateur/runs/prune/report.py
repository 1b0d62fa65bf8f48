"""What the page and the table of a pruning run show, read from its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from secateur.checkpoints.pretrained import AUTO_CLASSES
from secateur.objectives import QUANTITIES
from secateur.report import ReportData
from secateur.report.data import Row
from secateur.report.numbers import shown_as
from secateur.report.rows import Column, Table
from secateur.runs.prune.run import SUPERNET, PruneMember, PruneRun
from secateur.runs.reporting import Report, trial_row
from secateur.supernet.order import ORDER


class PruneReport(Report):
    """The report of a run of `secateur prune`."""

    run: PruneRun

    def data(self) -> ReportData:
        run = self.run
        front = run.front
        shown = {m.key: m for m in (*front, *(m for m in front.pool if m.polished is not None))}
        return ReportData(
            **self.common(f"{run.model_name} on {run.task.get('name', run.configuration.data)}"),
            task=run.task,
            shape=run.shape,
            unpruned={"values": {**run.unpruned, **run.measured.get("unpruned", {})}, "test": run.unpruned_test},
            trials=[
                {**trial_row(t), "plan": run.space.plan(t.architecture).as_dict()} for t in run.trials if t.origin != "polish"
            ],
            front=[self._member(m) for m in sorted(shown.values(), key=lambda m: m.values["body_parameters"])],
            curves={name: [{"step": step, **values} for step, values in run.store.curve(name)] for name in run.store.curves()},
            importance=self._importance(),
            notes=self._notes(),
            load_code=self._load_code(),
        )

    def _member(self, member: PruneMember) -> dict[str, Any]:
        done = member.polished
        return {
            "key": member.key,
            "architecture": str(member.architecture),
            "plan": member.plan.as_dict(),
            "values": {**self.run.measured.get(member.key, {}), **member.values},
            "details": dict(member.details),
            "test": member.test,
            "polished": {"values": dict(done.values), "test": member.polished_test} if done and done.complete else None,
        }

    def _importance(self) -> dict[str, Any] | None:
        path = self.run.folder / SUPERNET / ORDER
        if not path.is_file():
            return None
        from safetensors.numpy import load_file

        arrays = load_file(path)
        names = {"heads": "importance.heads", "units": "importance.units"}
        names |= {"order_heads": "order.heads", "order_units": "order.units"}
        return {name: arrays[stored].tolist() for name, stored in names.items()}

    def _notes(self) -> list[str]:
        notes = self.run.notes
        busy = sum(bool(t.details.get("latency_loaded")) for t in self.run.trials)
        if busy:
            notes.append(f"The machine was busy with other work while {busy} trials' latencies were measured.")
        if any(QUANTITIES[o.name].unit == "s" for o in self.run.objectives):
            notes.append("Latency was measured, so another run with the same seed may find another front.")
        return notes

    def _load_code(self) -> str:
        auto = AUTO_CLASSES[self.run.task.get("kind", "classification")]
        return (
            f"secateur export {self.run.folder} --key {{key}} --to pruned\n\n"
            f"from transformers import {auto}\n"
            f'model = {auto}.from_pretrained("pruned", trust_remote_code=True)'
        )

    def table(self, members: Sequence[PruneMember], wide: bool) -> tuple[Table, str, Row | None]:
        """Scores on validation and test data, polished ones beside, and costs."""
        run = self.run
        rows = {m.key: m for m in members}
        if len(members) > 1:  # polished networks are shown even where their shared weights are not on the front
            rows.update({m.key: m for m in run.front.pool if m.polished is not None})
        ordered = sorted(rows.values(), key=lambda m: m.values["body_parameters"])
        costs = ["parameters"] * wide + [n for n in ("latency", "memory") if any(n in m.values for m in ordered)]
        columns = [Column("key", "key"), Column("architecture", "architecture"), Column("body", "body", "share")]
        columns += [Column(name, name, shown_as(name)) for name in costs]
        scores = {"validation": "valid.", "test": "test", "polished_validation": "polished", "polished_test": "its test"}
        columns += [Column(name, title, "score") for name, title in scores.items()]
        last = {"architecture": "unpruned", "body": "100 %", **run.unpruned, **_scores(run.unpruned, run.unpruned_test)}
        title = f"{self.heading(members)}; scores are {run.task.get('main', 'score').replace('_', ' ')}"
        return Table(columns, [self._row(member) for member in ordered]), title, last

    def _row(self, member: PruneMember) -> Row:
        share = member.values["body_parameters"] / (self.run.unpruned["body_parameters"] or 1)
        row: Row = {"key": member.key[:8], "architecture": _text(member), "body": f"{100 * share:.1f} %", **member.values}
        row |= _scores(member.values, member.test)
        if member.polished is not None and member.polished.complete:
            row |= _scores(member.polished.values, member.polished_test, "polished_")
        return row

    def next_step(self) -> str:
        return f"Export: secateur export {self.run.folder} --under body_parameters=50% --to pruned"


def _scores(values: Mapping[str, Any], test: Mapping[str, Any] | None, prefix: str = "") -> dict[str, float | None]:
    return {f"{prefix}validation": 1 - values["error"], f"{prefix}test": 1 - test["error"] if test else None}


def _text(member: PruneMember) -> str:
    """The architecture in a few words: layers × (heads, units), or totals where layers differ."""
    layers = member.plan.layers
    heads, units = {p.heads.count for p in layers}, {p.units.count for p in layers}
    if not layers:
        return "no layers"
    if len(heads) == len(units) == 1:
        return f"{len(layers)} × ({heads.pop()}, {units.pop()})"
    return f"{len(layers)} layers, {sum(p.heads.count for p in layers)} heads, {sum(p.units.count for p in layers)} units"
