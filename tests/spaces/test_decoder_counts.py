"""Closed forms: against the published tables, and worked out by hand."""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from secateur.spaces.decoder import architecture
from secateur.spaces.decoder_counts import decoder_parameters, macs, parameters
from secateur.spaces.decoder_sizes import Sizes

HUNDRED = Sizes(vocabulary=100)
CLUSTERS = Sizes(vocabulary=100, positions=32, cutoffs=(10, 30))


@pytest.fixture(scope="module")
def published() -> list[dict]:
    root = os.environ.get("SECATEUR_SHARED")
    folder = Path(root) / "data" if root else Path(__file__).parents[2] / ".." / "shared" / "data"
    path = folder / "lts" / "gpt2_tables.json.gz"
    if not path.is_file():
        pytest.skip("the published tables are not at hand")
    with gzip.open(path) as file:
        return json.load(file)


def test_decoder_parameters_equal_the_published_ones(published: list[dict]) -> None:
    benches = set()
    for row in published:
        # In this one table the column was computed with Transformer-XL's formula: a defect of the data, which proves ours.
        backbone = "transformer_xl" if row["bench"] == "random_GPT2_lm1b" else "gpt2"
        a = architecture(backbone, row["d_model"], row["n_head"], row["d_inner"])
        assert decoder_parameters(a) == row["p_nonembedding"], row["id"]
        benches.add(row["bench"])
    assert len(published) == 521
    assert "random_GPT2_lm1b" in benches
    assert len(benches) > 3


def test_gpt2_small() -> None:
    a = architecture("gpt2", 768, [12] * 12, [3072] * 12)
    assert parameters(a, Sizes(vocabulary=50257)) == 124_439_808  # as everyone counts it
    assert decoder_parameters(a) == 124_439_808 - 50257 * 768 - 1024 * 768


def test_adaptive_embeddings_by_hand() -> None:
    # d 8, e 4, k 2, clusters of 10, 20 and 70 words with 4, 2 and 1 numbers each; all are projected to 8.
    tables, projections, bias, scores = 10 * 4 + 20 * 2 + 70 * 1, 8 * (4 + 2 + 1), 100, 2 * 8 + 2
    gpt2 = architecture("gpt2", 8, [2], [16], 4, 2)
    assert parameters(gpt2, CLUSTERS) == decoder_parameters(gpt2) + 32 * 8 + tables + projections + bias + scores
    xl = architecture("transformer_xl", 8, [2], [16], 4, 2)
    assert parameters(xl, CLUSTERS) == decoder_parameters(xl) + tables + projections + bias + scores
    # A cluster as wide as the model is not projected; the narrowest table has one number a word.
    wide = architecture("transformer_xl", 8, [2], [16], 8, 4)
    assert parameters(wide, replace(CLUSTERS, cutoffs=(10, 30, 50))) - decoder_parameters(wide) == (
        10 * 8 + 20 * 2 + 20 * 1 + 50 * 1 + 8 * (2 + 1 + 1) + 100 + 3 * 9
    )


def test_one_table_where_the_factor_is_1() -> None:
    a = architecture("gpt2", 8, [2], [16], 4, 1)
    assert parameters(a, CLUSTERS) - decoder_parameters(a) == 32 * 8 + 100 * 4 + 4 * 8 + 100


def test_plain_transformer_xl_has_an_output_bias() -> None:
    a = architecture("transformer_xl", 8, [2], [16])
    assert parameters(a, HUNDRED) - decoder_parameters(a) == 100 * 8 + 100


def test_macs_by_hand() -> None:
    # Per token: projections 4d² and feed-forward 2di, attention 2d for each of the 5 positions, output d per word.
    a = architecture("gpt2", 8, [2, 4], [16, 32])
    layer = 4 * 64 + 2 * 8 * 5
    assert macs(a, HUNDRED, 3, 5) == 15 * (2 * layer + 2 * 8 * (16 + 32) + 8 * 100)
    xl = architecture("transformer_xl", 8, [2], [16])
    # 5 positions see 5 + 4: queries and outputs for 5, keys and values for 9, positions projected once, three products each.
    assert macs(xl, replace(HUNDRED, recurrence=4), 3, 5) == (
        15 * 2 * 64 + 3 * 9 * 2 * 64 + 9 * 64 + 15 * 3 * 9 * 8 + 15 * 2 * 8 * 16 + 15 * 8 * 100
    )
    adaptive = architecture("gpt2", 8, [2, 4], [16, 32], 4, 2)
    inside, tables = 8 * (4 + 2), 10 * 4 + 90 * 2
    assert macs(adaptive, replace(HUNDRED, cutoffs=(10,)), 3, 5) - macs(a, HUNDRED, 3, 5) == 15 * (
        2 * inside + tables + 8 - 8 * 100
    )
