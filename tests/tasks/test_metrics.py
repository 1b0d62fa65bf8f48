from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from secateur.errors import EvaluationFailure
from secateur.tasks import TASKS, Scorer, Task, metrics
from secateur.tasks.task import KINDS


def task(kind: str, num_labels: int | None = 2, names: tuple[str, ...] | None = None) -> Task:
    known, main = KINDS[kind]
    return Task("toy", kind, names or known, names[0] if names else main, ("text",), "label", num_labels)


def test_f1_is_of_class_one_in_two_classes_and_macro_in_more():
    assert metrics.f1(np.array([1, 1, 0, 0]), np.array([1, 0, 1, 0])) == pytest.approx(0.5)
    assert metrics.f1(np.array([0, 0, 0]), np.array([1, 0, 1])) == 0.0
    # By hand: class 0 has F1 1, class 1 has 2/3, class 2 has 0.
    assert metrics.f1(np.array([0, 1, 1]), np.array([0, 1, 2]), num_labels=3) == pytest.approx((1 + 2 / 3 + 0) / 3)


def test_matthews_and_accuracy_by_hand():
    predictions, labels = np.array([1, 1, 0, 0, 1]), np.array([1, 0, 0, 0, 1])
    # tp 2, tn 2, fp 1, fn 0: (2·2 − 0) / √(3·2·3·2)
    assert metrics.matthews(predictions, labels) == pytest.approx(4 / 6)
    assert metrics.accuracy(predictions, labels) == 0.8


@pytest.mark.parametrize("name", ["pearson", "spearman", "matthews"])
def test_a_constant_prediction_has_correlation_zero(name: str):
    function = getattr(metrics, name)
    assert function(np.ones(5), np.arange(5)) == 0.0
    assert function(np.arange(5), np.ones(5)) == 0.0


def test_rounding_noise_about_a_constant_is_a_constant():
    labels = np.arange(10.0)
    noise = (2.7 + labels * 1e-7).astype(np.float32)
    assert metrics.spearman(noise, labels) == 0.0
    assert metrics.spearman(labels * 1e-7, labels) == pytest.approx(1.0)  # small is not constant


def test_spearman_ranks_and_pearson_does_not():
    labels = np.arange(1.0, 6.0)
    assert metrics.spearman(labels**5, labels) == pytest.approx(1.0)
    assert metrics.pearson(labels**5, labels) < 0.95
    assert metrics.pearson(-2 * labels, labels) == pytest.approx(-1.0)


def test_perplexity_overflows_to_infinity():
    assert metrics.perplexity(2 * math.log(7.0), 2) == pytest.approx(7.0)
    assert metrics.perplexity(1e6, 1) == math.inf


@given(st.lists(st.integers(1, 7), min_size=1, max_size=4), st.integers(0, 1000))
def test_the_score_does_not_depend_on_the_batches(sizes: list[int], seed: int):
    draw = np.random.default_rng(seed)
    logits, labels = draw.normal(size=(sum(sizes), 3)), draw.integers(0, 3, sum(sizes))
    whole, parts = Scorer(task("classification", 3)), Scorer(task("classification", 3))
    whole.update(logits, labels)
    cuts = np.cumsum(sizes)[:-1]
    for some, answers in zip(np.split(logits, cuts), np.split(labels, cuts), strict=True):
        parts.update(torch.tensor(some), torch.tensor(answers))
    assert parts.compute() == whole.compute()


def test_scorer_gives_every_metric_and_the_error_of_the_main_one():
    scorer = Scorer(TASKS["mrpc"])
    scorer.update(torch.tensor([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]], dtype=torch.bfloat16), torch.tensor([1, 0, 0]))
    assert scorer.compute() == {"accuracy": pytest.approx(2 / 3), "f1": pytest.approx(2 / 3)}
    assert scorer.error() == pytest.approx(1 / 3)


def test_scorer_of_a_regression_takes_columns():
    scorer = Scorer(TASKS["stsb"])
    scorer.update(torch.tensor([[1.0], [2.0]], requires_grad=True), torch.tensor([1.0, 2.0]))
    scorer.update(np.array([3.0]), np.array([9.0]))
    assert scorer.compute()["spearman"] == pytest.approx(1.0)
    assert scorer.error() == pytest.approx(0.0)


def test_scorer_of_language_shifts_and_leaves_out_padding():
    labels = torch.tensor([[2, 0, 1, -100]])
    logits = torch.zeros(1, 4, 3)
    logits[0, 0, 0] = 50.0  # position 0 tells token 1, which is 0: right
    logits[0, 1, 2] = math.log(2.0)  # position 1 tells 2, but 1 comes: probabilities 1/4, 1/4, 1/2
    logits[0, 2, :] = math.nan  # what comes after is padding: of no account
    scorer = Scorer(task("language_modelling", None))
    scorer.update(logits, labels)
    scorer.update(logits.numpy(), labels.numpy())
    assert scorer.compute() == {"token_accuracy": 0.5, "perplexity": pytest.approx(2.0)}
    assert scorer.error() == 0.5


def test_long_texts_are_scored_in_pieces():
    draw = torch.Generator().manual_seed(0)
    logits, labels = torch.randn(2, 900, 5, generator=draw), torch.randint(0, 5, (2, 900), generator=draw)
    scorer = Scorer(task("language_modelling", None))
    scorer.update(logits, labels)
    nll = torch.nn.functional.cross_entropy(logits[:, :-1].reshape(-1, 5), labels[:, 1:].reshape(-1))
    assert scorer.compute()["perplexity"] == pytest.approx(float(nll.exp()), rel=1e-5)


@pytest.mark.parametrize(
    ("kind", "logits", "labels"),
    [
        ("classification", torch.tensor([[math.nan, 0.0]]), torch.tensor([0])),
        ("regression", torch.tensor([math.nan]), torch.tensor([0.0])),
        ("language_modelling", torch.full((1, 3, 2), math.nan), torch.zeros(1, 3, dtype=torch.long)),
    ],
)
def test_nan_fails_the_evaluation(kind: str, logits: torch.Tensor, labels: torch.Tensor):
    with pytest.raises(EvaluationFailure, match="the network returned NaN"):
        Scorer(task(kind)).update(logits, labels)


def test_infinite_regression_fails_the_evaluation():
    with pytest.raises(EvaluationFailure, match="infinite"):
        Scorer(task("regression")).update(np.array([math.inf, 1.0]), np.array([0.0, 1.0]))


def test_scorer_refuses_unequal_lengths_and_nothing():
    with pytest.raises(ValueError, match="3 predictions"):
        Scorer(task("regression")).update(np.zeros(3), np.zeros(2))
    for kind in ("classification", "language_modelling"):
        with pytest.raises(ValueError, match="nothing to score"):
            Scorer(task(kind)).compute()


def by_hand(predictions: list[float], labels: list[float]) -> float:
    """Spearman's correlation: Pearson's, of the mean ranks."""

    def ranked(values: list[float]) -> list[float]:
        return [sum(v < value for v in values) + (sum(v == value for v in values) + 1) / 2 for value in values]

    a, b = (np.array(ranked(values)) for values in (predictions, labels))
    a, b = a - a.mean(), b - b.mean()
    return float(a @ b / math.sqrt((a @ a) * (b @ b)))


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 4)), min_size=2, max_size=40), st.integers(0, 1000))
def test_predictions_equal_up_to_rounding_share_a_rank(pairs: list[tuple[int, int]], seed: int):
    """Whole numbers, each disturbed by a few units in float32's last place of the largest: as if nothing had disturbed them."""
    exact, labels = [float(p) for p, _ in pairs], [float(label) for _, label in pairs]
    draw = np.random.default_rng(seed)
    unit = float(np.spacing(np.float32(max(map(abs, exact)))))
    noisy = (np.array(exact) + unit * draw.integers(-10, 11, len(exact))).astype(np.float32)
    constant = len(set(exact)) == 1 or len(set(labels)) == 1
    assert metrics.spearman(noisy, np.array(labels)) == pytest.approx(0.0 if constant else by_hand(exact, labels), abs=1e-12)


def test_near_neighbours_are_no_chain():
    """10,000 answers in a thousandth of their size lie within rounding of their neighbours, and are ranked all the same."""
    draw = np.random.default_rng(0)
    truth = draw.uniform(size=10_000)
    assert metrics.spearman(3 + 3e-3 * truth, truth) > 0.999
