"""What every learner of encodings keeps: a training that was cut off ends as if it had not been."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from secateur.encodings import GraphEncoding
from secateur.encodings.learned.arch2vec import Arch2vec
from secateur.encodings.learned.arch2vec_settings import Arch2vecSettings
from secateur.encodings.learned.cate import Cate
from secateur.encodings.learned.cate_settings import CateSettings
from secateur.encodings.learned.cells import Cells
from secateur.encodings.learned.dvae import Dvae
from secateur.encodings.learned.dvae_settings import DvaeSettings
from secateur.encodings.learned.gae import Vgae
from secateur.encodings.learned.gae_settings import VgaeSettings
from secateur.encodings.learned.learner import Learner
from secateur.encodings.learned.state import keep
from secateur.encodings.learned.supervised import Supervised
from secateur.encodings.learned.supervised_settings import SupervisedSettings
from secateur.spaces.cells import NasBench201

SPACE = NasBench201(merged=False, operations=("none", "nor_conv_3x3"))
GRAPHS = GraphEncoding(SPACE)
EVERY = list(SPACE.every())
COSTS = np.array([float(SPACE.parameters(cell)) for cell in EVERY])
CELLS = Cells(GRAPHS.encode(EVERY), COSTS, COSTS / 1e4)
GRAPH = {"width": 16, "layers": 2, "latent": 8, "batch": 16, "epochs": 4}
CATE = {"width": 16, "heads": 2, "inner": 16, "layers": 2, "cross_layers": 2, "batch": 32, "epochs": 4}
#: A new learner is one line.
LEARNERS: dict[str, tuple[type[Learner[Any, Any]], Any]] = {
    "arch2vec": (Arch2vec, Arch2vecSettings(**GRAPH)),
    "arch2vec, as published": (Arch2vec, Arch2vecSettings(**GRAPH, as_published=True)),
    "vgae": (Vgae, VgaeSettings(**GRAPH)),
    "d-vae": (Dvae, DvaeSettings(width=8, latent=6, batch=16, epochs=4)),
    "supervised": (Supervised, SupervisedSettings(**GRAPH, table="toy")),
    "cate": (Cate, CateSettings(**CATE)),
    "cate, both ways": (Cate, CateSettings(**CATE, bidirectional=True)),
    "cate, direct": (Cate, CateSettings(**CATE, dependencies="direct")),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_an_interrupted_training_ends_as_if_it_had_not_been(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, settings = LEARNERS[name]
    whole, cut, again = (kind(GRAPHS.shape, settings) for _ in range(3))
    losses = whole.train(CELLS, tmp_path / "whole", "a training")

    def stop(network: Any, optimiser: Any, state: Path, said: str, done: list[float]) -> None:
        keep(network, optimiser, state, said, done)
        if len(done) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("secateur.encodings.learned.learner.keep", stop)
        with pytest.raises(KeyboardInterrupt):
            cut.train(CELLS, tmp_path / "cut", "a training")
    assert again.train(CELLS, tmp_path / "cut", "a training") == losses
    assert same(again, whole)
    assert not same(cut, whole)


def same(one: Learner[Any, Any], other: Learner[Any, Any]) -> bool:
    weights = dict(other.network.state_dict())
    return all(torch.equal(tensor, weights[name]) for name, tensor in one.network.state_dict().items())
