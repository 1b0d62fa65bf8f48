"""What the page and the table of a run for cells show, read from its folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from secateur.report import CellsReportData
from secateur.report.cells_page import importance_table, networks_table
from secateur.report.data import Row
from secateur.report.numbers import SPACE, show
from secateur.report.rows import Table
from secateur.runs.cells.run import NETWORK, CellsMember, CellsRun
from secateur.runs.reporting import Report, trial_row

METRIC = "accuracy"


class CellsReport(Report):
    """The report of a run of `secateur cells`."""

    run: CellsRun
    usual_objectives = ("error", "parameters")

    def facts(self) -> Row:
        c = self.run.configuration
        return {name: getattr(c, name) for name in ("data", "encoding", "derivation", "order", "seed")}

    def conditions(self) -> Row:
        c = self.run.configuration
        data = f"{c.data}, {c.max_train} / {c.max_validation} / {c.max_test} images"
        network = f"{c.cells} cells of {c.nodes} nodes, {c.channels} channels"
        return {"metric": METRIC, "data": data, "network": network, "device": self.run.store.get_meta("device")}

    def scored_by(self) -> str:
        return METRIC

    def scored(self, member: CellsMember) -> Row:
        test = member.test
        return {"key": member.key, "score": 1 - member.values["error"], "test": None if test is None else test[METRIC]}

    def data(self) -> CellsReportData:
        run = self.run
        found = list(run.front)
        return CellsReportData(
            **self.common(f"Cells for {run.configuration.data}"),
            trials=[{**trial_row(t), "choices": dict(t.architecture.choices)} for t in run.trials],
            front=[{**self.plain_row(m), "values": dict(m.values), "details": dict(m.details)} for m in found],
            notes=run.notes,
            load_code=self.next_step(),
            networks=run.networks,
            importance=run.importance,
            drawing=found[0].drawing() if found else "",
            metric=METRIC,
            lead=self.lead(),
        )

    def table(self, members: Sequence[CellsMember], wide: bool) -> tuple[Table, str, Row | None]:
        """Every network of the run: there is one on the front."""
        return networks_table(self.run.networks, METRIC), f"The networks of {self.run.folder}", None

    def further(self) -> list[tuple[Table, str]]:
        return [(importance_table(self.run.importance), "How much edges count in the super-network")]

    def plain_row(self, member: CellsMember) -> Row:
        test = member.test
        row: Row = {"key": member.key, "architecture": member.text, **member.values}
        row |= {"test_error": None if test is None else 1 - test[METRIC]}
        row |= {f"supernet_{name}": value for name, value in self.run.unpruned.items()}
        return row | {"folder": str(member.folder), "choices": dict(member.architecture.choices)}

    def lead(self) -> str:
        found: dict[str, Any] = {row["network"]: row for row in self.run.networks}
        if "fine-tuned" not in found or found["fine-tuned"]["test"] is None:
            return ""
        tuned, whole = found["fine-tuned"], found["super-network"]
        share = show(tuned["values"]["parameters"] / whole["values"]["parameters"], "share")
        errors = [show(1 - row["test"][METRIC], "share") for row in (tuned, whole)]
        said = f"test error {errors[0]} with {share} of the super-network's parameters, which itself errs on {errors[1]}"
        return said.replace(SPACE, " ")

    def next_step(self) -> str:
        return f"Load:   secateur.open_run({str(self.run.folder)!r}).front[0].load(), from {self.run.folder / NETWORK}"
