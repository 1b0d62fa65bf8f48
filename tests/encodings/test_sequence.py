"""Architectures as rows of choices."""

from __future__ import annotations

import numpy as np

from secateur.encodings import GraphEncoding
from secateur.encodings.sequence import SequenceEncoding, as_graphs, graphs_refused
from secateur.rng import generator
from secateur.spaces.cells import NasBench101, NasBench201
from secateur.spaces.decoder import Decoder
from secateur.spaces.pool import Pool
from secateur.spaces.pruning import Large, Medium, Shape

MEDIUM = Medium(Shape(2, 3, 8), units="0..8:4")
DECODER = Decoder(layers="1..3", width="64", inner="128..256:64", heads=(2, 4), embedding=(0,), factor=(1,))


def test_a_row_of_choices() -> None:
    encoding = SequenceEncoding(MEDIUM)
    assert encoding.names == ("medium", "0..3=0", "0..3=1", "0..3=2", "0..3=3", "0..8:4=0", "0..8:4=4", "0..8:4=8", "output")
    edges, operations = encoding.shape.matrices(encoding.encode([MEDIUM.make({"heads": [1, 3], "units": [8, 0]})]))
    assert [encoding.names[i] for i in operations[0].argmax(axis=1)] == [
        "medium",
        "0..3=1",
        "0..8:4=8",
        "0..3=3",
        "0..8:4=0",
        "output",
    ]
    assert np.array_equal(edges[0], np.eye(6, k=1))
    assert encoding.encode([]).shape == (0, encoding.dimensions)


def test_layers_that_are_not_there_have_no_nodes() -> None:
    encoding = SequenceEncoding(DECODER)
    drawn = DECODER.sample_many(200, generator(0))
    _, operations = encoding.shape.matrices(encoding.encode(drawn))
    layers = np.array([len(a["heads"]) for a in drawn])  # type: ignore[arg-type]
    fixed = len(DECODER.domains) - 2 * 3
    assert np.array_equal(operations.sum(axis=(1, 2)), 2 + fixed + 2 * layers)
    different = {a.key for a in drawn}
    assert len(np.unique(operations.reshape(200, -1), axis=0)) == len(different)


def test_what_makes_graphs_of_a_space() -> None:
    assert isinstance(as_graphs(NasBench201()), GraphEncoding)
    pool = Pool(MEDIUM, MEDIUM.sample_many(5, generator(0)))
    assert isinstance(as_graphs(pool), SequenceEncoding)
    assert graphs_refused(pool) is None
    said = graphs_refused(Large(Shape(2, 12, 1536)))
    assert said is not None
    assert "too many to learn an encoding of" in said
    assert SequenceEncoding.refuses(NasBench101()) == "`nasbench101` is neither a space of cells nor one of a row of choices."


def test_values_are_told_apart() -> None:
    """Those of choices that have other values, or of another backbone or space, have other names."""
    options = {"layers": "2..4", "width": "128..256:64", "inner": "512..1024:512", "heads": (2, 4, 8), "factor": (4,)}
    one, other = (SequenceEncoding(Decoder(b, **options, embedding=(128, 256, 512))) for b in ("gpt2", "transformer_xl"))
    assert {"2..4=3", "128..256:64=192", "2,4,8=4", "128,256,512=256", "512..1024:512=512"} <= set(one.names)
    assert one.names[0] == "decoder gpt2"
    assert one.names[0] != other.names[0]
    wide = SequenceEncoding(Decoder(**{**options, "width": "256..384:64"}, embedding=(128, 256, 512)))
    assert wide.names != one.names
    space = one.space
    made = {"backbone": "gpt2", "width": 128, "heads": [2, 4], "inner": [512, 1024], "embedding": 256, "factor": 4}
    read = one.shape.matrices(one.encode([space.make(made)]))[1][0]
    named = [one.names[i] for i in read.argmax(axis=1)[: int(read.sum())]]
    assert named[-5:] == ["2,4,8=2", "512..1024:512=512", "2,4,8=4", "512..1024:512=1024", "output"], "layer after layer"
