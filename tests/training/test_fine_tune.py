"""Fine-tuning: a student learns from its teacher, and nothing else changes."""

from __future__ import annotations

import copy

import pytest
import torch

from secateur.spaces.pruning import Plan
from secateur.supernet import Supernet
from secateur.testing.models import toy_model
from secateur.testing.toy_task import toy_task_data
from secateur.training.distillation import distillation_loss
from secateur.training.fine_tune import FineTuneTrainer, fine_tune
from secateur.training.settings import TrainingSettings
from secateur.training.stage_trainer import training_arguments
from secateur.training.teacher import REPLACED, TOLD, told, varied

ONE_STEP = TrainingSettings(
    epochs=1, batch_size=8, learning_rate=1e-3, learning_rate_warmup=0.0, max_grad_norm=0.0, checkpoints=0
)
HEADS = {"classification": "classification", "regression": "regression", "language_modelling": "causal"}


def networks(kind="classification"):
    teacher = toy_model("gpt2" if kind == "language_modelling" else "bert", HEADS[kind], layers=2)
    return Supernet(teacher).extract(Plan.uniform(1, 2, 6)), teacher


@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.parametrize(("weight", "labels"), [(0.0, 1.0), (0.5, 1.0), (2.0, 0.25), (1.0, 0.0)])
def test_the_step_is_that_of_plain_autograd(tmp_path, recorder, same, kind, weight, labels):
    """Weighted task loss plus weight × distance to the teacher; weight 0 is plain fine-tuning, labels 0 distillation alone."""
    data, (student, teacher) = toy_task_data(kind, examples=8), networks(kind)
    settings = TrainingSettings(**{**vars(ONE_STEP), "distillation_weight": weight, "label_weight": labels, "temperature": 3.0})
    expected = copy.deepcopy(student)
    batch = data.collate(list(data.train))
    outputs = expected(**batch)
    term = distillation_loss(
        outputs.logits,
        teacher(**batch).logits,
        temperature=3.0,
        regression=kind == "regression",
        labels=batch["labels"],
    )
    (labels * outputs.loss + weight * term).backward()
    trainer = FineTuneTrainer(
        teacher,
        settings=settings,
        regression=kind == "regression",
        language_modelling=kind == "language_modelling",
        model=student,
        args=training_arguments(settings, tmp_path, 8, "cpu"),
        train_dataset=data.train,
        data_collator=data.collate,
        callbacks=[recorder],
    )
    trainer.train()
    same(recorder.steps[0], {n: p.grad for n, p in expected.named_parameters() if p.grad is not None}, tolerance=1e-5)


@pytest.mark.parametrize("mode", [True, False])
def test_a_student_improves_and_the_teacher_stays(tmp_path, mode):
    data, (student, teacher) = toy_task_data(examples=48), networks()
    teacher.train(mode)
    before = {name: tensor.clone() for name, tensor in teacher.state_dict().items()}
    batch = data.collate(list(data.train))

    def loss():
        student.eval()
        with torch.no_grad():
            return student(**batch).loss.item()

    at_first = loss()
    settings = TrainingSettings(epochs=10, batch_size=8, learning_rate=1e-2, distillation_weight=0.1, checkpoints=0)
    seen = []
    student.train()
    rows = fine_tune(
        student, data, settings, tmp_path, teacher=teacher, progress=lambda step, steps, loss: seen.append((step, steps))
    )
    assert not any(module.training for module in student.modules())
    assert all(module.training == mode for module in teacher.modules())
    assert all(torch.equal(tensor, before[name]) for name, tensor in teacher.state_dict().items())
    assert all(parameter.grad is None for parameter in teacher.parameters())
    assert seen[-1] == (60, 60)
    assert rows[-1]["step"] == 60
    assert loss() < 0.7 * at_first


def test_the_teachers_word_is_followed(tmp_path):
    """With a heavy weight the student ends nearer to its teacher than without."""
    distances = []
    for weight in (0.0, 100.0):
        data, (student, teacher) = toy_task_data(examples=16), networks()
        settings = TrainingSettings(
            epochs=10, batch_size=8, learning_rate=1e-2, distillation_weight=weight, temperature=1.0, checkpoints=0
        )
        fine_tune(student, data, settings, tmp_path / str(weight), teacher=teacher)
        batch = data.collate(list(data.train))
        with torch.no_grad():
            distances.append(distillation_loss(student(**batch).logits, teacher(**batch).logits, temperature=1.0).item())
    assert distances[1] < 0.5 * distances[0]


def test_a_teacher_is_asked_in_eval_mode(tmp_path):
    """With dropout it would say something else every time."""
    (student, teacher), modes = networks(), []
    teacher.train()
    teacher.register_forward_hook(lambda module, *_: modes.append((module.training, torch.is_grad_enabled())))
    fine_tune(student, toy_task_data(examples=8), ONE_STEP, tmp_path, teacher=teacher)
    assert modes == [(False, False)]


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_what_a_teacher_said_once_trains_as_the_teacher_itself(tmp_path, kind):
    """Asked for all examples at once or batch by batch: the same weights, but for the last digits of float32."""
    ends = []
    for once in (True, False):
        data, (student, teacher) = toy_task_data(kind, examples=20), networks(kind)
        teacher.eval()
        examples = told(teacher, data, 7) if once else None
        settings = TrainingSettings(epochs=3, batch_size=8, learning_rate=1e-3, distillation_weight=2.0, checkpoints=0)
        fine_tune(student, data, settings, tmp_path / str(once), teacher=None if once else teacher, examples=examples)
        ends.append(student.state_dict())
    for name, tensor in ends[0].items():
        torch.testing.assert_close(tensor, ends[1][name], rtol=1e-3, atol=1e-5)


def test_a_pause_changes_nothing(tmp_path):
    """Three epochs in one go, or paused after the first and the second, each by a new process's student."""
    data, (student, _) = toy_task_data(examples=20), networks()
    settings = TrainingSettings(epochs=3, batch_size=8, learning_rate=1e-3, checkpoints=1)
    whole = copy.deepcopy(student)
    fine_tune(whole, data, settings, tmp_path / "whole")
    for until in (1, 1, 2, None):  # the second is what a kill after the checkpoint leaves to do
        again = copy.deepcopy(student)
        fine_tune(again, data, settings, tmp_path / "paused", until=until)
    assert all(torch.equal(tensor, again.state_dict()[name]) for name, tensor in whole.state_dict().items())


def test_what_was_trained_before_a_kill_has_its_curve(tmp_path):
    """The process ended after the last step: the next one has nothing to train, and the same rows."""
    data, (student, _) = toy_task_data(examples=20), networks()
    settings = TrainingSettings(epochs=2, batch_size=8, learning_rate=1e-3, checkpoints=1)
    for until in (1, None):
        rows = fine_tune(copy.deepcopy(student), data, settings, tmp_path, until=until)
        assert [row["step"] for row in rows] == list(range(1, 4 if until else 7))
        assert fine_tune(copy.deepcopy(student), data, settings, tmp_path, until=until) == rows


def test_a_pause_is_no_end(tmp_path):
    """The learning rate at the pause is that of the whole training."""
    data, (student, _) = toy_task_data(examples=16), networks()
    settings = TrainingSettings(epochs=4, batch_size=8, learning_rate=1e-3, learning_rate_warmup=0.0)
    rows = fine_tune(student, data, settings, tmp_path, until=2)
    assert rows[-1]["step"] == 4
    assert rows[-1]["learning_rate"] == pytest.approx(1e-3 * 5 / 8)


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_variants_of_texts(kind):
    """Some words are others, from the same texts; the tokenizer's own tokens stay, and the teacher labels them."""
    data, (_, teacher) = toy_task_data(kind, examples=60), networks(kind)
    examples = told(teacher.eval(), data, 16, varied(data, 2, seed=1))
    assert len(examples) == 180
    assert examples.columns["input_ids"][:60] == data.train.columns["input_ids"]
    assert examples.labels[:60] == data.train.labels
    special, words = set(data.tokenizer.all_special_ids), {t for ids in data.train.columns["input_ids"] for t in ids}
    changed = total = 0
    for place, ids in enumerate(examples.columns["input_ids"][60:]):
        own = data.train.columns["input_ids"][place % 60]
        assert len(ids) == len(own)
        assert set(ids) <= words
        assert [t in special for t in ids] == [t in special for t in own]
        changed += sum(a != b for a, b in zip(ids, own, strict=True))
        total += sum(t not in special for t in own)
    assert 0.08 < changed / total < REPLACED + 0.03
    batch = data.collate([{n: v for n, v in examples[i].items() if n != TOLD} for i in range(60, 180)])
    with torch.no_grad():
        logits = teacher(**{n: v for n, v in batch.items() if n != "labels"}).logits
    said = logits[:, 0] if kind == "regression" else logits.argmax(-1)
    torch.testing.assert_close(torch.tensor(examples.labels[60:], dtype=said.dtype), said, rtol=1e-4, atol=1e-5)


def test_a_look_sees_what_a_pause_leaves_and_changes_nothing(tmp_path):
    data, (student, teacher) = toy_task_data(examples=32), networks()
    settings = TrainingSettings(epochs=2, batch_size=8, learning_rate=1e-2)  # four steps in an epoch, with dropout
    paused, plain, looked = (copy.deepcopy(student) for _ in range(3))
    seen = []

    def look(epochs):
        assert not looked.training
        seen.append((epochs, copy.deepcopy(looked.state_dict())))

    def same(one, other):
        return all(torch.equal(one[name], other[name]) for name in one)

    fine_tune(paused, data, settings, tmp_path / "paused", teacher=teacher, until=0.5)
    fine_tune(plain, data, settings, tmp_path / "plain", teacher=teacher)
    looks = {"looks": (0.4, 0.5, 1.25), "look": look}
    fine_tune(looked, data, settings, tmp_path / "looked", teacher=teacher, **looks)
    assert [epochs for epochs, _ in seen] == [[0.4, 0.5], [1.25]]  # the first two are after the same step
    assert same(paused.state_dict(), seen[0][1])
    assert not same(paused.state_dict(), seen[1][1])
    assert same(looked.state_dict(), plain.state_dict())
    # a training that was paused beyond a look begins anew, and ends the same
    looked.load_state_dict(student.state_dict())
    fine_tune(looked, data, settings, tmp_path / "again", teacher=teacher, until=1.0)
    looked.load_state_dict(student.state_dict())
    fine_tune(looked, data, settings, tmp_path / "again", teacher=teacher, **looks)
    assert [epochs for epochs, _ in seen[2:]] == [[0.4, 0.5], [1.25]]
    assert same(seen[2][1], seen[0][1])
    assert same(looked.state_dict(), plain.state_dict())
