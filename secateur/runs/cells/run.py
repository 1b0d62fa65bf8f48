"""A run of `secateur cells`, opened: the super-network, what was derived from it, and the network it ends with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateur.architecture import Architecture
from secateur.errors import SecateurError
from secateur.runs.cells.settings import CellsSettings
from secateur.runs.folder import RunFolder
from secateur.spaces.cells import Darts
from secateur.spaces.cells.weighted import NAME, edges_of, graphs, weighted
from secateur.study import Front, Member
from secateur.trial import POLISH

if TYPE_CHECKING:
    from secateur.cells.network import CellNetwork

#: What lies where in the run's folder.
SUPERNET, DERIVED, NETWORK = "supernet", "derived", "network"


@dataclass(frozen=True, repr=False)
class CellsMember(Member):
    """The network that a run ends with."""

    run: CellsRun = field(compare=False, repr=False)

    @property
    def folder(self) -> Path:
        """Where it lies: weights, cells and their drawing."""
        return self.run.folder / NETWORK

    @property
    def test(self) -> Mapping[str, float] | None:
        """Its scores on test data; None before they are known."""
        return next((row["test"] for row in self.run.networks if row["network"] == "fine-tuned"), None)

    @property
    def text(self) -> str:
        cells = edges_of(self.architecture)
        return ", ".join(
            f"{role} {len(edges)} edges with {sum(len(edge.operations) for edge in edges)} operations"
            for role, edges in cells.items()
        )

    def load(self) -> CellNetwork:
        """The network, in evaluation mode."""
        from secateur.cells.files import load_network

        return load_network(self.folder)

    def drawing(self) -> str:
        """Its cells as SVG."""
        from secateur.spaces.cells.drawing import drawn

        return drawn(graphs(self.architecture))


class CellsRun(RunFolder):
    """A run of `secateur cells`."""

    settings = CellsSettings

    @property
    def about(self) -> str:
        c = self.configuration
        return f"{c.cells} cells of {c.nodes} nodes on {c.data}, derived by {c.derivation}"

    @cached_property
    def space(self) -> Darts:
        """The cells that DARTS' rule can derive; masks can derive others."""
        return Darts(nodes=self.configuration.nodes)

    def holds(self, architecture: Architecture) -> bool:
        if architecture.space != NAME:
            return self.space.contains(architecture)
        try:
            cells = edges_of(architecture)
            top = max(edge.target for edges in cells.values() for edge in edges)
            return weighted(cells) == architecture and top < 2 + self.configuration.nodes
        except (SecateurError, KeyError, TypeError, ValueError):
            return False

    @property
    def front(self) -> Front[CellsMember]:
        """The fine-tuned network; empty before it is there."""
        tuned = [trial for trial in self.trials if trial.origin == POLISH]
        return Front(tuned[-1:], self.objectives, self.unpruned).map(lambda trial: CellsMember(trial, self))

    @property
    def unpruned(self) -> dict[str, float]:
        """The values of the super-network, which relative bounds refer to."""
        return next((dict(row["values"]) for row in self.networks), {})

    @property
    def whole(self) -> dict[str, float]:
        return self.unpruned

    @property
    def networks(self) -> list[dict[str, Any]]:
        """Every network of the run, in order: network (its name), values, test (None before the stage `test`)."""
        tests = dict(self.store.get_meta("network_tests", {}))
        return [{**row, "test": tests.get(row["network"])} for row in self.store.get_meta("networks", [])]

    @property
    def importance(self) -> dict[str, list[list[float]]]:
        """By role and node, how much each edge into it counts in the super-network; empty before it is trained."""
        return dict(self.store.get_meta("importance", {}))

    def no_export(self) -> str:
        return f"the network of `{self.folder}` is written already, as a folder that loads: `{self.folder / NETWORK}`."
