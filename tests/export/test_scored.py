"""What is said of a network's forms."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from secateur.export.card import trained_card, with_forms
from secateur.export.forms import Exported
from secateur.export.scored import Form, Forms, sizes

TORCH = Form("torch", 61_000_000, 0.782, 14.2e-3)
FORMS = Forms(
    (TORCH, Form("onnx", 61_400_000, 0.782, 9.1e-3), Form("int8", 16_000_000, 0.779, 7.5e-3, 21_000_000.0)),
    "accuracy",
    timed="batch 1 × 128 on the CPU, 1 thread",
)


def test_forms_stand_side_by_side() -> None:
    said = str(FORMS).splitlines()
    assert said[0] == "torch 14.2 ms 0.782 61 MB · onnx 9.1 ms 0.782 61 MB · int8 7.5 ms 0.779 16 MB"
    assert said[1] == "(accuracy on the validation data; batch 1 × 128 on the CPU, 1 thread)"
    assert len(said) == 2
    assert "| `model.int8.onnx` | 16 MB | 21 MB | 0.779 | 7.5 ms | 1.9 × |" in FORMS.table().splitlines()
    shown = str(
        Exported(Path("out"), "carried", {"reloaded": 0.0, "onnx": 3e-6}, ("model.onnx",), "do not use it", FORMS)
    ).splitlines()
    assert shown[:2] == ["out", "  files: model.onnx"]
    assert shown[2:4] == ["  largest difference, reloaded: 0.0e+00", "  largest difference, onnx: 3.0e-06"]
    assert shown[4:] == [*(f"  {line}" for line in said), "  do not use it"]


@pytest.mark.parametrize(
    ("metric", "first", "other", "warning"),
    [
        ("accuracy", 0.782, 0.763, None),
        ("accuracy", 0.782, 0.748, "3.4 points of accuracy are lost in model.int8.onnx against torch: 0.748 for 0.782."),
        ("accuracy", 0.7, 0.9, None),
        ("accuracy", 0.7, None, None),
        ("perplexity", 20.0, 20.9, None),
        ("perplexity", 20.0, 21.6, "the perplexity is 8% higher in model.int8.onnx against torch: 21.60 for 20.00."),
        ("perplexity", 20.0, math.inf, "the perplexity is inf% higher in model.int8.onnx against torch: inf for 20.00."),
        ("perplexity", math.inf, math.inf, None),
    ],
)
def test_a_form_that_loses_much_comes_with_a_warning(
    metric: str, first: float, other: float | None, warning: str | None
) -> None:
    forms = Forms((Form("torch", 9, first), Form("int8", 5, other)), metric)
    assert forms.warnings == ((warning,) if warning else ())
    assert (f"warning: {warning}" in str(forms).splitlines()) == bool(warning)
    assert ("**Warning:**" in forms.table()) == bool(warning)


def test_what_was_not_scored_is_said_and_no_place_is_told_to_the_world() -> None:
    forms = Forms((Form("torch", 9_000),), unscored="`data/secret.csv` does not exist", timed="batch 1 × 4")
    assert str(forms).splitlines() == [
        "torch 9 kB",
        "(batch 1 × 4)",
        "Not scored on the validation data: `data/secret.csv` does not exist.",
    ]
    assert "Not scored: the validation data were not available." in forms.table()
    assert "secret" not in forms.table()


def test_a_card_gets_the_section_once() -> None:
    facts = {"name": "my-lm", "text": "t", "parameters": 1, "decoder_parameters": 1, "validation": 9.0, "steps": 1}
    facts |= {"seconds": 1.0, "settings": {}, "architecture": {"backbone": "gpt2", "width": 4, "heads": [1], "inner": [8]}}
    card = trained_card(facts)
    once = with_forms(card, FORMS)
    assert once == trained_card({**facts, "forms": FORMS})
    assert with_forms(once, FORMS) == once
    assert with_forms("mine", FORMS) == f"mine\n\n{FORMS.table()}\n"


def test_sizes_count_shards_and_weights_beside_a_graph(tmp_path: Path) -> None:
    for name, size in {"model-1.safetensors": 3, "model-2.safetensors": 4, "model.onnx": 5, "model.onnx.data": 6}.items():
        (tmp_path / name).write_bytes(bytes(size))
    assert sizes(tmp_path) == {"torch": 7, "onnx": 11}
