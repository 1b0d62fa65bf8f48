"""Error on shared weights against extracted networks scored by hand."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from secateur.architecture import Architecture
from secateur.estimators.shared_weights import SharedWeightsError, score
from secateur.rng import generator
from secateur.spaces.pruning import Small
from secateur.supernet import Importance, Supernet, reorder
from secateur.tasks.examples import Examples, TaskData
from secateur.testing.models import toy_model
from secateur.testing.toy_task import toy_task_data
from secateur.testing.toys import SPACES

MODELS = {
    "classification": ("bert", "classification"),
    "regression": ("roberta", "regression"),
    "multiple_choice": ("bert", "multiple_choice"),
    "language_modelling": ("llama", "causal"),
}


def made(kind="classification", space="small", **options):
    supernet = Supernet(toy_model(*MODELS[kind], layers=3, seed=2))
    if kind == "classification":  # else one class wins always
        torch.nn.init.zeros_(supernet.model.classifier.bias)
    data = toy_task_data(kind, examples=20, longest=8)
    return SharedWeightsError(supernet, SPACES[space](supernet.shape), data, **options)


def by_hand(estimator: SharedWeightsError, architecture: Architecture) -> float:
    """1 − the main metric of the extracted network, one example at a time, with numpy alone."""
    network = estimator.supernet.extract(estimator.space.plan(architecture)).eval()
    kind, outputs, labels = estimator.data.task.kind, [], []
    for example in estimator.data.validation:
        batch = estimator.data.collate([example])
        target = batch.pop("labels").numpy()
        with torch.no_grad():
            logits = network(**batch).logits.numpy()
        if kind == "language_modelling":
            outputs += logits[0, :-1].argmax(-1).tolist()
            labels += target[0, 1:].tolist()
        else:
            outputs.append(logits.item() if kind == "regression" else int(logits.argmax()))
            labels.append(target.item())
    if kind == "regression":
        if np.ptp(outputs) < 1e-5:  # no layers: the same answer to everything
            return 1.0
        ranks = [[np.less(values, v).sum() + np.equal(values, v).sum() / 2 for v in values] for values in (outputs, labels)]
        return 1.0 - float(np.corrcoef(*ranks)[0, 1])
    return 1.0 - float(np.mean(np.equal(outputs, labels)))


@pytest.mark.parametrize("space", SPACES)
def test_the_error_is_that_of_the_extracted_network(space):
    estimator = made(space=space, batch_size=7)
    architectures = [estimator.space.smallest(), estimator.space.largest(), *estimator.space.sample_many(4, generator(1))]
    found = estimator.evaluate(architectures)
    errors = [e.values["error"] for e in found]
    assert errors == pytest.approx([by_hand(estimator, a) for a in architectures], abs=1e-6)
    assert len(set(errors)) > 1
    for evaluation in found:
        assert evaluation.failure is None
        assert evaluation.values["error"] == pytest.approx(1 - evaluation.details["accuracy"])


@pytest.mark.parametrize("kind", MODELS)
def test_every_shallower_depth_comes_for_free(kind):
    """Its errors are those of evaluations of their own, and of the extracted networks."""
    estimator, alone = made(kind), made(kind, depths=False)
    deep = estimator.space.make({"heads": 3, "units": 7, "layers": 3})
    (found,) = estimator.evaluate([deep])
    assert [dict(a.choices) for a, _ in found.extra] == [{"heads": 3, "units": 7, "layers": d} for d in range(3)]
    separate = alone.evaluate([deep, *(a for a, _ in found.extra)])
    assert all(e.extra == () for e in separate)
    errors = [found.values["error"], *(values["error"] for _, values in found.extra)]
    assert errors == pytest.approx([e.values["error"] for e in separate], abs=1e-6)
    assert errors == pytest.approx([by_hand(estimator, a) for a in (deep, *(a for a, _ in found.extra))], abs=1e-6)


def test_depths_keep_to_the_bounds_of_the_space():
    estimator = made()
    estimator.space = Small(estimator.supernet.shape, layers="1..3:2")
    (found,) = estimator.evaluate([estimator.space.make({"heads": 2, "units": 5, "layers": 3})])
    assert [int(a["layers"]) for a, _ in found.extra] == [1]


@pytest.mark.parametrize("space", sorted(set(SPACES) - {"small"}))
def test_only_small_has_free_depths(space):
    estimator = made(space=space)
    assert not estimator.depths
    assert estimator.evaluate([estimator.space.largest()])[0].extra == ()


def test_a_network_without_heads_and_units_has_none_shallower():
    estimator = made()
    (found,) = estimator.evaluate([estimator.space.make({"heads": 0, "units": 0, "layers": 3})])
    assert found.extra == ()
    assert found.failure is None


@pytest.mark.parametrize("kind", MODELS)
def test_buckets_do_not_change_the_error(kind):
    """One batch that is padded to its longest, buckets of any size, one example at a time."""
    errors = []
    for batch_size in (1, 4, 7, 100):
        estimator = made(kind, batch_size=batch_size)
        architecture = estimator.space.make({"heads": 2, "units": 6, "layers": 2})
        errors.append(estimator.evaluate([architecture])[0].values["error"])
    assert errors == pytest.approx([errors[0]] * 4, abs=1e-6)
    widths = [b["input_ids"].shape[-1] for b in made(kind, batch_size=4).batches]
    assert min(widths) < max(widths)  # padded to their own longest only


@pytest.mark.parametrize("depths", [True, False])
def test_nan_is_a_failure_with_its_reason(depths):
    """The trial fails; the next one is evaluated as ever."""
    estimator = made(depths=depths)
    with torch.no_grad():
        estimator.supernet.layers[2].output.dense.bias.fill_(float("nan"))
    deep, shallow = (estimator.space.make({"heads": 2, "units": 6, "layers": n}) for n in (3, 2))
    failed, fine = estimator.evaluate([deep, shallow])
    assert (failed.failure, dict(failed.values)) == ("the network returned NaN", {})
    assert fine.failure is None
    assert fine.values["error"] == pytest.approx(by_hand(estimator, shallow), abs=1e-6)


def test_a_free_depth_that_overflows_fails_alone():
    """Nobody asked for it: the one that was asked for keeps its value."""
    estimator = made("regression")
    deep = estimator.space.make({"heads": 2, "units": 6, "layers": 3})
    expected, calls = by_hand(estimator, deep), []

    def overflow_at_the_second(module, args, output):  # the head runs on the whole depth first, then on the others
        calls.append(1)
        return torch.full_like(output, float("inf")) if len(calls) == 2 else output

    estimator.supernet.model.classifier.register_forward_hook(overflow_at_the_second)
    (found,) = estimator.evaluate([deep])
    assert len(calls) == 4
    assert found.failure is None
    assert found.values["error"] == pytest.approx(expected, abs=1e-6)
    assert len(found.extra) == 2


@pytest.mark.parametrize("mode", [True, False])
@pytest.mark.parametrize("depths", [True, False])
def test_the_models_mode_and_gradients_are_left_alone(mode, depths):
    estimator = made(depths=depths)
    model = estimator.supernet.model
    model.train(mode)
    seen = []
    model.classifier.register_forward_hook(lambda module, *_: seen.append((module.training, torch.is_grad_enabled())))
    estimator.evaluate([estimator.space.largest()])
    assert set(seen) == {(False, False)}
    assert all(module.training == mode for module in model.modules())
    assert all(p.grad is None and p.requires_grad for p in model.parameters())
    model.classifier.register_forward_hook(lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        estimator.evaluate([estimator.space.largest()])
    assert model.training == mode


def test_it_can_be_trained_after_an_evaluation():
    """Inference mode leaves nothing behind that backward would stumble over."""
    estimator = made()
    estimator.evaluate([estimator.space.largest()])
    batch = estimator.data.collate(list(estimator.data.train))
    estimator.supernet.model(**batch).loss.backward()


class TestFingerprint:
    def test_equal_for_equal_parts(self):
        one, other = made(), made()
        assert one.fingerprint == other.fingerprint
        other.evaluate([other.space.largest()])
        other.supernet.model.train()
        assert one.fingerprint == other.fingerprint
        assert made(depths=False).fingerprint == one.fingerprint  # a depth's value is the same either way
        assert made(space="large").fingerprint == one.fingerprint  # an architecture's key knows no space

    def test_changes_with_one_weight(self):
        estimator = made()
        before = estimator.fingerprint
        with torch.no_grad():
            estimator.supernet.layers[1].output.dense.weight[0, 0] += 1e-3
        changed = estimator.fingerprint
        assert changed != before
        with torch.no_grad():
            estimator.supernet.layers[1].output.dense.weight[0, 0] -= 1e-3
        assert estimator.fingerprint != changed

    def test_changes_with_the_order(self):
        """The network computes the same; its sub-networks do not."""
        estimator = made()
        before, shape = estimator.fingerprint, estimator.supernet.shape
        rng = np.random.default_rng(0)
        scores = Importance(rng.random((shape.layers, shape.heads)), rng.random((shape.layers, shape.units)))
        reorder(estimator.supernet, scores.order())
        assert estimator.fingerprint != before

    def test_changes_with_the_data_and_the_batch(self):
        estimator = made()
        found = {estimator.fingerprint, made(batch_size=32).fingerprint}
        data = estimator.data
        swapped = TaskData(data.task, data.train, data.test, data.validation, data.tokenizer, data.max_length, data.num_labels)
        labels = [(label + 1) % 3 for label in data.validation.labels]
        relabelled = dataclasses.replace(data, validation=Examples({**data.validation.columns, "labels": labels}))
        for other in (swapped, relabelled):
            found.add(SharedWeightsError(estimator.supernet, estimator.space, other).fingerprint)
        assert len(found) == 4

    def test_is_cheap_to_ask_again(self, monkeypatch):
        from secateur.estimators import shared_weights

        hashed, usual = [], shared_weights.weights_digest
        monkeypatch.setattr(shared_weights, "weights_digest", lambda model: hashed.append(1) or usual(model))
        estimator = made()
        assert len({estimator.fingerprint for _ in range(5)}) == 1
        assert len(hashed) == 1


def test_score_is_the_error_of_a_network_and_its_metrics():
    estimator = made()
    network = estimator.supernet.extract(estimator.supernet.whole)
    network.train()
    found = score(network, estimator.data.task, estimator.data.batches("validation", 8))
    assert set(found) == {"accuracy", "f1", "error"}
    assert found["error"] == pytest.approx(by_hand(estimator, estimator.space.largest()), abs=1e-6)
    assert network.training
