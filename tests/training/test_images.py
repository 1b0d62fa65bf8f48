from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from secateur.errors import ConfigurationError, EvaluationFailure
from secateur.tasks import load_images
from secateur.training.augmentation import Augmentation
from secateur.training.images import ImageTraining, cosine, image_logits, score_images, sgd, train_images


@pytest.fixture(scope="module")
def data():
    return load_images("digits", max_train=400)


def network(seed: int = 0, wide: int = 32) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Flatten(), nn.Linear(64, wide), nn.BatchNorm1d(wide), nn.ReLU(), nn.Linear(wide, 10))


def test_the_loop_learns_digits_and_follows_its_seed(data):
    runs = []
    state = torch.get_rng_state()
    for seed in (0, 0, 1):
        net = network()
        losses = train_images(net, data, ImageTraining(epochs=5, seed=seed))
        runs.append((losses, net.state_dict()))
        assert losses[-1] < losses[0] / 3
        assert not net.training
        assert score_images(net, data, "test")["accuracy"] > 0.9
    assert torch.equal(torch.get_rng_state(), state)  # nothing is drawn from the caller's generator
    assert runs[0][0] == runs[1][0] != runs[2][0]
    assert all(torch.equal(a, b) for a, b in zip(runs[0][1].values(), runs[1][1].values(), strict=True))


def test_accuracy_is_the_share_of_right_answers(data):
    net = network().eval()
    with torch.no_grad():
        told = net(data.normalised(data.test)).argmax(1)
    right = float((told == data.test.labels).float().mean())
    assert score_images(net, data, "test")["accuracy"] == pytest.approx(right, abs=1e-7)
    assert score_images(net, data, data.batches("test", 11))["accuracy"] == pytest.approx(right, abs=1e-7)


def test_the_first_step_is_the_formula(data):
    """One step by hand: cross-entropy, Nesterov momentum of a first step (1 + m) · gradient, weight decay on matrices only."""
    net, reference = network(), network()
    s = ImageTraining(epochs=1, batch=len(data.train), learning_rate=0.1, weight_decay=0.01, smoothing=0.1, warm_up=0, clip=1e9)
    train_images(net, data, s)
    order = torch.randperm(len(data.train), generator=torch.Generator().manual_seed(0))
    logits = reference(data.normalised(data.train, order))
    loss = nn.functional.cross_entropy(logits, data.train.labels[order], label_smoothing=0.1)
    loss.backward()
    for mine, theirs in zip(net.parameters(), reference.parameters(), strict=True):
        gradient = theirs.grad + (0.01 * theirs.detach() if theirs.ndim > 1 else 0)
        assert torch.allclose(mine, theirs.detach() - 0.1 * 1.9 * gradient, atol=1e-6)


def test_a_teacher_is_heard(data):
    teacher = network(5, 64)
    train_images(teacher, data, ImageTraining(epochs=5))
    before = {name: t.clone() for name, t in teacher.state_dict().items()}
    settings = ImageTraining(epochs=5, distillation=1.0, temperature=2.0)
    taught, wrong = network(1), nn.Sequential(teacher, _NextClass())
    train_images(taught, data, settings, teacher=teacher)
    assert score_images(taught, data, "test")["accuracy"] > 0.75
    taught = network(1)
    train_images(taught, data, settings, teacher=wrong)  # who names the next class: the labels have no say
    assert score_images(taught, data, "test")["accuracy"] < 0.1
    with torch.no_grad():
        told = taught(data.normalised(data.test)).argmax(1)
    assert float((told == (data.test.labels + 1) % 10).float().mean()) > 0.75
    assert all(torch.equal(before[name], t) for name, t in teacher.state_dict().items())


def test_a_loss_that_is_no_number_fails_with_a_reason(data):
    net = network()
    net[1].weight.data.fill_(math.nan)
    with pytest.raises(EvaluationFailure, match="the loss is nan after epoch 1"):
        train_images(net, data, ImageTraining(epochs=2))
    with pytest.raises(ConfigurationError, match="`epochs` must be at least 1"):
        train_images(network(), data, ImageTraining(epochs=0))
    with pytest.raises(ConfigurationError, match="must return logits for images, got `dict`"):
        image_logits(_Wrong(), torch.zeros(1))


class _NextClass(nn.Module):
    def forward(self, logits):
        return logits.roll(1, dims=1)


class _Wrong(nn.Module):
    def forward(self, pixels):
        return {}


def test_the_learning_rate_rises_and_falls():
    rates = [cosine(step, 100, 10) for step in range(100)]
    assert rates[:10] == sorted(rates[:10])
    assert rates[10] == 1
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert rates[55] == pytest.approx(0.5)
    assert cosine(100, 100, 10) == 0
    groups = sgd(network(), 0.1, 0.9, 0.3).param_groups
    assert [g["weight_decay"] for g in groups] == [0.3, 0.0]
    assert [len(g["params"]) for g in groups] == [2, 4]


def test_crops_are_windows_of_the_padded_image_and_flips_mirror():
    images = torch.arange(2 * 2 * 3 * 4, dtype=torch.float32).reshape(2, 2, 3, 4) + 1
    padded = nn.functional.pad(images, (1, 1, 1, 1))
    seen = set()
    for seed in range(40):
        out = Augmentation(pad=1)(images, torch.Generator().manual_seed(seed))
        for i in range(2):
            found = [(r, c) for r in range(3) for c in range(3) if torch.equal(out[i], padded[i, :, r : r + 3, c : c + 4])]
            assert len(found) == 1
            seen.add((i, *found[0]))
    assert len(seen) == 18  # every shift, of each image by itself
    out = [Augmentation(flip=True)(images, torch.Generator().manual_seed(s)) for s in range(20)]
    mirrored = [[torch.equal(o[i], images[i].flip(-1)) for i in range(2)] for o in out]
    assert all(m or torch.equal(o[i], images[i]) for o, ms in zip(out, mirrored, strict=True) for i, m in enumerate(ms))
    assert 5 < sum(m for ms in mirrored for m in ms) < 35
    assert Augmentation()(images, torch.Generator()) is images
