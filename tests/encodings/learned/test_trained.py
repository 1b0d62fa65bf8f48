"""A trained encoding in its folder: found like any other, and refused where it does not fit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import secateur
from secateur.catalogue import check_encoding, find_encoding
from secateur.encodings import Encoding, GraphEncoding
from secateur.encodings.learned import Trained, fingerprint
from secateur.errors import ConfigurationError, StudyError, UnknownNameError
from secateur.rng import generator
from secateur.spaces.cells import CateOutside, NasBench101, NasBench201
from secateur.spaces.pool import Pool
from secateur.testing.toys import toy

SMALL = {"width": 8, "layers": 1, "latent": 4, "epochs": 1, "progress": False, "device": "cpu"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """arch2vec of the cells of NAS-Bench-101 of four nodes."""
    to = tmp_path_factory.mktemp("trained") / "a2v"
    secateur.encode_pretrain("nasbench101", space_option=["nodes=2..4"], batch=8, to=to, **SMALL)
    return to


def test_it_is_an_encoding_like_any_other(folder: Path) -> None:
    space = NasBench101(nodes="2..4")
    kind = find_encoding(str(folder))
    assert kind.refuses(space) is None
    encoding = kind(space)
    assert isinstance(encoding, Encoding)
    assert (encoding.name, encoding.dimensions) == (str(folder), 4)
    cells = list(space.every())
    found = encoding.encode(cells)
    assert found.shape == (len(cells), 4)
    assert found.dtype == np.float64
    assert np.isfinite(found).all()
    assert encoding.encode([]).shape == (0, 4)
    assert found == pytest.approx(encoding.model.embed(GraphEncoding(space).encode(cells)))
    one_by_one = np.concatenate([encoding.encode([cell]) for cell in cells])
    assert found == pytest.approx(one_by_one, abs=1e-5)


def test_pools_and_other_spaces_of_the_same_cells(folder: Path) -> None:
    space = NasBench101(nodes="2..4")
    some = space.sample_many(5, generator(0))
    pooled = Trained(folder)(Pool(space, some)).encode(some)
    assert pooled == pytest.approx(Trained(folder)(space).encode(some))
    assert Trained(folder).refuses(CateOutside(nodes="4", edges="4..6")) is None


def test_other_spaces_are_refused(folder: Path) -> None:
    trained = Trained(folder)
    reason = trained.refuses(NasBench201())
    assert reason is not None
    assert f"`{folder}` was trained on `nasbench101`, nodes=2..4, cells of 4 nodes (input, conv3x3-bn-relu" in reason
    assert reason.endswith("and cannot serve `nasbench201`, whose cells have others.")
    with pytest.raises(ConfigurationError, match="cannot serve `nasbench101`"):
        trained(NasBench101())
    assert "has none" in (trained.refuses(toy("small").space) or "")


def test_architectures_of_other_spaces_are_refused(folder: Path) -> None:
    encoding = Trained(folder)(NasBench101(nodes="2..4"))
    larger = next(a for a in NasBench101(nodes="5").every())
    for wrong in (NasBench201().smallest(), larger):
        with pytest.raises(ConfigurationError, match="encodes architectures of `nasbench101`, and one given is none"):
            encoding.encode([wrong])


def test_folders_that_hold_none(folder: Path, tmp_path: Path) -> None:
    space = NasBench101(nodes="2..4")
    with pytest.raises(StudyError, match="holds no trained encoding: `secateur encode pretrain` makes one"):
        Trained(tmp_path)(space)
    (tmp_path / "training.safetensors").touch()
    with pytest.raises(StudyError, match="its pre-training has not ended: run it again to go on"):
        Trained(tmp_path)(space)
    card = json.loads((folder / "card.json").read_text())
    for change in ({"method": "word2vec"}, {"settings": {"width": -1}}, {"nodes": None}):
        damaged = {name: value for name, value in {**card, **change}.items() if value is not None}
        (tmp_path / "card.json").write_text(json.dumps(damaged))
        with pytest.raises(StudyError, match="is not a card of a trained encoding"):
            Trained(tmp_path)(space)
    (tmp_path / "card.json").write_text(json.dumps(card))
    with pytest.raises(StudyError, match="does not hold the network that its card describes"):
        Trained(tmp_path)(space)


def test_names_and_folders(folder: Path) -> None:
    check_encoding("runs/whatever")
    with pytest.raises(UnknownNameError, match=r"unknown encoding `paths`. Did you mean `path`\?.*with a slash: ./NAME"):
        check_encoding("paths")
    assert fingerprint("path") == fingerprint("no/such") == ""
    assert fingerprint(str(folder)) == fingerprint(f"{folder}/") != ""
