"""The stages of a run of `secateur cells`: super-network, derivation, fine-tuning, controls, test, report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from secateur.architecture import Architecture
from secateur.cells import deriving
from secateur.cells.files import WEIGHTS, load_network, load_state, save_network, save_state
from secateur.cells.network import CellNetwork, Sizes
from secateur.cells.supernet import CellSupernet
from secateur.devices.device import describe_device, resolve_device
from secateur.rng import generator
from secateur.runs.cells.run import DERIVED, NETWORK, SUPERNET
from secateur.runs.stages import Stage, Work
from secateur.runs.timing import Effort
from secateur.spaces.cells.weighted import random_like
from secateur.tasks import load_images
from secateur.training.cells.searching import edge_importance, train_masks, train_supernet
from secateur.training.cells.settings import SECOND, CellTraining
from secateur.training.images import ImageTraining, score_images, train_images
from secateur.trial import MASKS, POLISH, Trial

#: The networks that begin with random weights, by the folders they lie in.
CONTROLS = {"random weights": "random-weights", "random cells": "random-cells"}


class CellsWork(Work):
    """A run of `secateur cells` on its way. Each stage reads what the one before left in the folder."""

    def prepare(self) -> None:
        c = self.c
        limits = {"max_train": c.max_train, "max_validation": c.max_validation, "max_test": c.max_test}
        self.device = resolve_device(c.device)
        self.data = load_images(c.data, seed=c.seed, **limits).to(self.device)
        self.sizes = Sizes(c.cells, c.channels, self.data.shape[0], self.data.num_labels)
        self.training: CellTraining = c.part(CellTraining)

    def stages(self) -> list[Stage]:
        controls = [Stage("controls", self.controls)] if self.c.controls else []
        return [
            Stage("supernet", self.supernet),
            Stage("derive", self.derive),
            Stage("tune", self.tune),
            *controls,
            Stage("test", self.test),
            Stage("report", self.write_report),
        ]

    def efforts(self) -> dict[str, Effort]:
        """By passes of images through the super-network, a backward pass counting as two."""
        c, images = self.c, len(self.data.train)
        extra = 2.0 if c.order == SECOND else 0.5
        return {
            "supernet": Effort(3 * images * c.epochs * (1 + extra)),
            "derive": Effort(3 * images * c.mask_epochs if c.derivation == deriving.MASKS else 0, 1.0),
            "tune": Effort(2 * images * c.tune_epochs),
            "controls": Effort(4 * images * self.all_epochs),
            "test": Effort(2 * len(self.data.test)),
            "report": Effort(seconds=1.0),
        }

    @property
    def all_epochs(self) -> int:
        """The epochs of all trainings that end in the fine-tuned network."""
        c = self.c
        found: int = c.epochs + c.tune_epochs + (c.mask_epochs if c.derivation == deriving.MASKS else 0)
        return found

    # The stages

    def supernet(self) -> None:
        """Train the super-network with its architecture."""
        supernet = self._new()
        with self.progress.bar("training the super-network") as advance:
            epochs = self.c.epochs
            train_supernet(supernet, self.data, self.training, self.c.seed, lambda done, loss: advance(done, epochs, loss))
        save_state(supernet, self.folder / SUPERNET / WEIGHTS)
        self.store.set_meta("networks", [])
        self._keep("super-network", deriving.whole(supernet), supernet, supernet.stack.count())
        self.store.set_meta("importance", edge_importance(supernet))
        self.store.set_meta("device", describe_device(self.device))

    def derive(self) -> None:
        """Learn masks, or take DARTS' rule, and cut out what they leave."""
        supernet = self._new()
        load_state(supernet, self.folder / SUPERNET / WEIGHTS)
        if self.c.derivation == deriving.MASKS:
            with self.progress.bar("learning masks") as advance:
                epochs = self.c.mask_epochs
                train_masks(supernet, self.data, self.training, self.c.seed, lambda done, loss: advance(done, epochs, loss))
            architecture = deriving.by_masks(supernet)
        else:
            architecture = deriving.by_top_two(supernet)
        network = deriving.extract(supernet, architecture)
        self._keep_network("derived", network, DERIVED)
        self._tell(architecture, "derived", MASKS)

    def tune(self) -> None:
        """Fine-tune what was derived."""
        network = load_network(self.folder / DERIVED).to(self.device)
        self._train(network, self.c.tune_epochs, self.c.tune_rate, "fine-tuning")
        self._keep_network("fine-tuned", network, NETWORK)
        self._tell(network.architecture, "fine-tuned", POLISH)

    def controls(self) -> None:
        """The same cells from random weights, and random cells of the same size."""
        found, seed = load_network(self.folder / NETWORK).architecture, self.c.seed
        other = random_like(found, generator(seed, "cells"))
        for number, (name, architecture) in enumerate(zip(CONTROLS, (found, other), strict=True)):
            network = CellNetwork(architecture, self.sizes, seed=seed + 1 + number).to(self.device)
            self._train(network, self.all_epochs, self.c.learning_rate, f"training from {name}")
            self._keep_network(name, network, CONTROLS[name])

    def test(self) -> None:
        """Score every network on the test data, once."""
        supernet = self._new()
        load_state(supernet, self.folder / SUPERNET / WEIGHTS)
        scores = {"super-network": score_images(supernet, self.data, "test")}
        folders = {"derived": DERIVED, "fine-tuned": NETWORK, **CONTROLS}
        for name in (row["network"] for row in self.store.get_meta("networks") if row["network"] in folders):
            network = load_network(self.folder / folders[name]).to(self.device)
            scores[name] = score_images(network, self.data, "test")
        self.store.set_meta("network_tests", scores)

    # What they share

    def _new(self) -> CellSupernet:
        c = self.c
        return CellSupernet(self.sizes, c.nodes, c.encoding, seed=c.seed).to(self.device)

    def _train(self, network: CellNetwork, epochs: int, rate: float, title: str) -> None:
        c = self.c
        how = ImageTraining(epochs=epochs, batch=c.batch, learning_rate=rate, momentum=c.momentum, seed=c.seed)
        how = ImageTraining(**{**how.as_dict(), "weight_decay": c.weight_decay, "pad": c.pad, "flip": c.flip})
        with self.progress.bar(title) as advance:
            train_images(network, self.data, how, after_epoch=lambda done, loss: advance(done, epochs, loss))

    def _keep_network(self, name: str, network: CellNetwork, folder: str) -> Path:
        """Save a network, and what is known of it."""
        self._keep(name, network.architecture, network, network.count())
        labels = list(self.data.label_names)
        images = {"mean": self.data.mean.tolist(), "deviation": self.data.deviation.tolist(), "shape": list(self.data.shape)}
        return save_network(network, self.folder / folder, labels=labels, images=images, validation=self._row(name)["values"])

    def _keep(self, name: str, architecture: Architecture, network: Any, counts: tuple[int, int]) -> None:
        """Score a network on the validation data and keep that as a row, in the place of an earlier one of this name."""
        score = score_images(network, self.data, "validation")[self.data.task.main]
        values = {"error": 1 - score, "parameters": counts[0], "stored_parameters": counts[1]}
        row = {"network": name, "key": architecture.key, "values": values}
        others = [other for other in self.store.get_meta("networks", []) if other["network"] != name]
        self.store.set_meta("networks", [*others, row])

    def _row(self, name: str) -> dict[str, Any]:
        return next(dict(row) for row in self.store.get_meta("networks") if row["network"] == name)

    def _tell(self, architecture: Architecture, name: str, origin: str) -> None:
        """Store a network as a trial, once."""
        if not any(trial.origin == origin for trial in self.store.trials()):
            self.store.add(Trial(None, architecture, values=self._row(name)["values"], origin=origin))
