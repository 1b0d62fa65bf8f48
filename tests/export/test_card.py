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
            "ratios": {"int8": 0.26, "int4": 0.17},
            "differences": {"reloaded": 0.0, "onnx": 3e-6},
        }
    )
    assert card.startswith("---\nlibrary_name: transformers\n")
    for line in (
        'base_model: "bert-base-cased"',
        "# rte-half",
        "A sub-network of `bert-base-cased`, for `glue/rte`. It was polished: fine-tuned further after the search.",
        "| accuracy, validation | 0.7000 | 0.6800 | 97.1 % |",
        "| accuracy, test | – | 0.6600 | – |",
        "| parameters | 2,400 | 1,200 | 50.0 % |",
        "| 0 | 2 | removed |",
        "| 1 | removed | removed |",
        "| 2 | 4 | 5 |",
        'model = AutoModelForSequenceClassification.from_pretrained("rte-half")',
        "`model.onnx` accepts any batch size and length. `model.int8.onnx` is 0.26 times its size. "
        "`model.int4.onnx` is 0.17 times its size.",
        "| reloaded, and `model.onnx` | 3.0e-06 |",
    ):
        assert line in card.splitlines(), line
    assert "trust_remote_code" not in card


def test_unpolished_weights_are_said_to_be_so():
    assert "Its weights are those it shared with the super-network" in model_card({"polished": False})


def test_costs_have_units_and_scores_their_share_above_chance():
    facts = {
        "metric": "accuracy",
        "test": 0.7938,
        "unpruned_test": 0.84,
        "chance_test": 0.7274,
        "chance": "always the same class",
    }
    facts |= {"latency": 0.0142, "unpruned_latency": 0.042, "memory": 4e7, "unpruned_memory": 9.09e7, "measured_on": "a CPU"}
    lines = model_card(facts).splitlines()
    for line in (
        "| | unpruned | this network | share | above chance |",
        "| accuracy, test | 0.8400 | 0.7938 | 94.5 % | 59.0 % |",
        "| latency of a pass | 42 ms | 14.2 ms | 33.8 % |  |",
        "| peak memory of a pass | 90.9 MB | 40.0 MB | 44.0 % |  |",
        "Chance (always the same class) is 0.7274 on test data.",
        "Latency and memory: a CPU.",
    ):
        assert line in lines, line


def test_a_language_models_perplexity_comes_first():
    card = model_card({"perplexity": 9.43, "unpruned_perplexity": 8.1, "test": 0.3, "token_latency": 0.0021})
    rows = [line for line in card.splitlines() if line.startswith("| ")]
    assert rows[1] == "| perplexity, test | 8.1 | 9.43 | 116.4 % |"
    assert "| latency per token | – | 2.1 ms | – |" in rows


def test_a_folder_on_this_machine_is_no_base_model_of_a_hub():
    assert "base_model" not in model_card({"base_model": "my-folder", "on_hub": False})
    assert 'base_model: "org/name"' in model_card({"base_model": "org/name", "on_hub": True})


def test_heterogeneous_networks_say_both_ways_to_load_them():
    card = model_card({"name": "half", "form": "carried", "model_class": "BertForSequenceClassification"})
    assert 'from_pretrained("half", trust_remote_code=True)' in card
    assert "`import secateur.auto` first" in card
    assert '`secateur.load("half")`' in card
