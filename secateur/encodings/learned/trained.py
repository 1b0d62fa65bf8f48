"""A trained encoding in a folder: its card says what it was trained on, and it serves like any other encoding."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from secateur.architecture import Architecture, digest
from secateur.catalogue import find, names
from secateur.encodings.base import Encoding
from secateur.encodings.graph import GraphEncoding
from secateur.encodings.sequence import as_graphs, graphs_refused
from secateur.errors import ConfigurationError, StudyError, one_line
from secateur.paths import checked
from secateur.spaces.base import Space

#: In the folder: what was trained and how well, its weights, and a training that has not ended.
CARD, WEIGHTS, STATE = "card.json", "model.safetensors", "training.safetensors"
#: Operations that an error names at the most.
MOST_NAMED = 12
#: Architectures that are made vectors at once.
CHUNK = 16_384


class Trained:
    """What makes encodings of a folder, as a class makes them of a name."""

    def __init__(self, folder: str | Path) -> None:
        self.name = str(folder)
        self.folder = checked(folder, StudyError)

    @cached_property
    def card(self) -> dict[str, Any]:
        """What the folder says of itself. Raises StudyError where it holds no trained encoding."""
        if not (self.folder / CARD).is_file():
            begun = (self.folder / STATE).is_file()
            why = "its pre-training has not ended: run it again to go on" if begun else "`secateur encode pretrain` makes one"
            raise StudyError(f"`{self.name}` holds no trained encoding: {why}.")
        try:
            card: dict[str, Any] = json.loads((self.folder / CARD).read_text(encoding="utf-8"))
            learner = find("learner", card["method"])
            learner.settings(**card["settings"]).check()
            if missing := {"space", "options", "nodes", "operations", "seed"} - card.keys():
                raise ValueError(f"it has no `{min(missing)}`")
        except (OSError, ValueError, KeyError, TypeError, ConfigurationError) as error:
            raise StudyError(f"`{self.folder / CARD}` is not a card of a trained encoding: {one_line(error)}.") from error
        return card

    def refuses(self, space: Space) -> str | None:
        """Why it cannot serve a space, or None where it can: its cells must have the nodes that it was trained on."""
        of_cells = self.card["space"] in names("space", "bench")
        if reason := GraphEncoding.refuses(space) if of_cells else graphs_refused(space):
            return reason
        graphs, known = as_graphs(space), self.card["operations"]
        if [graphs.nodes, list(graphs.names)] == [self.card["nodes"], known]:
            return None
        options = "".join(f", {name}={value}" for name, value in self.card["options"].items())
        what = "cells" if of_cells else "architectures"
        listed = ", ".join(known if len(known) <= MOST_NAMED else [*known[:MOST_NAMED], "…"])
        return (
            f"the encoding in `{self.name}` was trained on `{self.card['space']}`{options}, {what} of {self.card['nodes']} "
            f"nodes ({listed}), and cannot serve `{space.name}`, whose {what} have others."
        )

    def __call__(self, space: Space) -> TrainedEncoding:
        """Raises ConfigurationError where it cannot serve the space, StudyError where the folder is damaged."""
        if reason := self.refuses(space):
            raise ConfigurationError(reason)
        return TrainedEncoding(space, self)


def fingerprint(encoding: str) -> str:
    """Of the weights in a folder: what was computed with others is not the same. Nothing of an encoding by name."""
    weights = Path(encoding).expanduser() / WEIGHTS
    return _digest(weights, weights.stat().st_mtime_ns) if "/" in encoding and weights.is_file() else ""


@lru_cache(maxsize=64)
def _digest(weights: Path, changed: int) -> str:
    return digest("trained encoding", weights.read_bytes().hex())


class TrainedEncoding(Encoding):
    """The embeddings of a trained network, those of an architecture's cells one after the other."""

    def __init__(self, space: Space, trained: Trained) -> None:
        super().__init__(space)
        self.name = trained.name  # type: ignore[misc]
        card = trained.card
        kind = find("learner", card["method"])
        self._graphs = as_graphs(space)
        self.model = kind(self._graphs.shape, kind.settings(**card["settings"]), card["seed"])
        self.model.load(trained.folder / WEIGHTS)

    @property
    def dimensions(self) -> int:
        return int(self.model.dimensions)

    def encode(self, architectures: Sequence[Architecture]) -> np.ndarray:
        """Raises ConfigurationError for an architecture of another space."""
        found = [np.zeros((0, self.dimensions))]
        for start in range(0, len(architectures), CHUNK):
            part = architectures[start : start + CHUNK]
            try:
                vectors = self._graphs.encode(part)
            except (KeyError, IndexError, TypeError, ValueError) as error:
                raise ConfigurationError(
                    f"`{self.name}` encodes architectures of `{self.space.name}`, and one given is none: {one_line(error)}."
                ) from error
            found.append(self.model.embed(vectors))
        return np.concatenate(found)
