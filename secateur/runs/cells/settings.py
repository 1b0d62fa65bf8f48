"""The settings of `secateur cells`: written once, for the verb, the config file and the checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from secateur.runs.settings import RunSettings
from secateur.settings import MOST_EXAMPLES, option
from secateur.spaces.cells.darts import MOST_NODES
from secateur.training.cells.settings import CellTraining

_DATA, _NETWORK = "The data", "The network"
#: As `secateur.cells.supernet.ENCODINGS` and `secateur.cells.deriving.DERIVATIONS`, which need torch.
ENCODINGS, DERIVATIONS = ("multi-level", "single-level"), ("masks", "top-2")


@dataclass(frozen=True, kw_only=True)
class CellsSettings(CellTraining, RunSettings):
    """By default small enough for a CPU and a few thousand small images."""

    verb: ClassVar[str] = "cells"
    objectives: ClassVar[tuple[str, ...]] = ("error", "parameters")
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "default": {},
        # Yan (2022), section 2.4, on CIFAR-10; the text's cutout is not there.
        "yan2022": {
            "cells": 3,
            "channels": 36,
            "batch": 128,
            "epochs": 100,
            "warm_up": 10,
            "order": "second",
            "architecture_rate": 3e-4,
            "mask_rate": 1e-4,
            "mask_epochs": 20,
            "tune_epochs": 200,
            "pad": 4,
            "flip": True,
        },
    }

    data: str = option(
        about="A folder with a sub-folder of images per class, an .npz file with images and labels, or digits.",
        positional=True,
    )
    preset: str = option(
        "default",
        "Where the values you do not give come from: default, or yan2022 (the paper's setup for CIFAR-10, for a GPU).",
    )
    max_train: int | None = option(None, "Use at most this many training images.", least=2, most=MOST_EXAMPLES, panel=_DATA)
    max_validation: int | None = option(
        None, "Use at most this many validation images.", least=2, most=MOST_EXAMPLES, panel=_DATA
    )
    max_test: int | None = option(None, "Use at most this many test images.", least=2, most=MOST_EXAMPLES, panel=_DATA)
    cells: int = option(3, "Cells one after the other; two of them halve the images.", least=3, most=100, panel=_NETWORK)
    channels: int = option(8, "Channels of the first cell; halved images double them.", least=2, most=4096, panel=_NETWORK)
    nodes: int = option(4, "Nodes of a cell.", least=1, most=MOST_NODES, panel=_NETWORK)
    encoding: str = option(
        "multi-level",
        "What the architecture weighs: operations and edges (multi-level), or operations alone, as DARTS does (single-level).",
        known=ENCODINGS,
        panel=_NETWORK,
    )
    derivation: str = option(
        "masks",
        "How cells are derived: by masks that are learnt, or by DARTS' rule, two inputs of one operation each (top-2).",
        known=DERIVATIONS,
        panel=_NETWORK,
    )
    controls: bool = option(
        False,
        "Also train the found cells from random weights, and random cells of the same size, for as many epochs in all.",
        flag="--controls",
    )
