from __future__ import annotations

import secateur
from secateur.export.card import model_card


def test_an_empty_card_leaves_out_what_is_missing():
    card = model_card({})
    assert "## " not in card
    assert secateur.__version__ in card


def test_a_full_card():
    card = model_card(
        {
            "name": "rte-half",
            "base_model": "bert-base-cased",
            "task": "glue/rte",
            "metric": "accuracy",
            "validation": 0.68,
            "unpruned_validation": 0.7,
            "test": 0.66,
            "polished": True,
            "parameters": 1200,
            "unpruned_parameters": 2400,
            "macs": 99,
            "shape": {"layers": 3, "heads": 4, "units": 8},
            "plan": {"layers": [{"index": 0, "heads": [1, 3], "units": 0}, {"index": 2, "heads": 4, "units": 5}]},
            "form": "plain",
            "model_class": "BertForSequenceClassification",
            "onnx": True,
            "int8_ratio": 0.26,
            "differences": {"reloaded": 0.0, "onnx": 3e-6},
        }
    )
    assert card.startswith("---\nlibrary_name: transformers\n")
    for line in (
        'base_model: "bert-base-cased"',
        "# rte-half",
        "A sub-network of `bert-base-cased`, for `glue/rte`. It was fine-tuned after it was cut out.",
        "| accuracy, validation | 0.7000 | 0.6800 | 97.1% |",
        "| accuracy, test | – | 0.6600 | – |",
        "| parameters | 2,400 | 1,200 | 50.0% |",
        "| 0 | 2 | removed |",
        "| 1 | removed | removed |",
        "| 2 | 4 | 5 |",
        'model = AutoModelForSequenceClassification.from_pretrained("rte-half")',
        "`model.onnx` takes any batch and length. `model.int8.onnx` is 0.26 times its size.",
        "| reloaded, and `model.onnx` | 3.0e-06 |",
    ):
        assert line in card.splitlines(), line
    assert "trust_remote_code" not in card


def test_unpolished_weights_are_said_to_be_so():
    assert "Its weights are the super-network's, cut out." in model_card({"polished": False})
