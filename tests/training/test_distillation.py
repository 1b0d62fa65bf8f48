"""The distillation term against numbers worked out by hand and against sums in plain Python."""

from __future__ import annotations

import math

import pytest
import torch

from secateur.training.distillation import distillation_loss

# Two classes, T = 2: the teacher's (ln 9, 0) becomes (ln 3, 0), shares 3/4 and 1/4; the student's (0, 0) stays 1/2 and 1/2.
TEACHER = torch.tensor([[math.log(9.0), 0.0]])
STUDENT = torch.zeros(1, 2)
BY_HAND = 0.75 * math.log(1.5) + 0.25 * math.log(0.5)  # 0.130812


def kl(teacher, student, temperature):
    """KL of two lists of logits, in plain Python."""

    def shares(logits):
        powers = [math.exp(v / temperature) for v in logits]
        return [p / sum(powers) for p in powers]

    return sum(p * math.log(p / q) for p, q in zip(shares(teacher), shares(student), strict=True))


def test_two_classes_by_hand():
    assert distillation_loss(STUDENT, TEACHER, temperature=2.0).item() == pytest.approx(BY_HAND, rel=1e-6)


def test_the_teacher_comes_first():
    """KL is not symmetric: the other way round the same logits give another number."""
    other_way = 0.5 * math.log(0.5 / 0.75) + 0.5 * math.log(0.5 / 0.25)
    assert abs(other_way - BY_HAND) > 0.01
    assert distillation_loss(TEACHER, STUDENT, temperature=2.0).item() == pytest.approx(other_way, rel=1e-6)


def test_no_factor_of_the_temperature_unless_asked():
    plain = distillation_loss(STUDENT, TEACHER, temperature=2.0).item()
    scaled = distillation_loss(STUDENT, TEACHER, temperature=2.0, squared_temperature=True).item()
    assert scaled == pytest.approx(4 * plain, rel=1e-6)


def test_mean_over_the_batch():
    drawn = torch.Generator().manual_seed(0)
    student, teacher = torch.randn(5, 3, generator=drawn), torch.randn(5, 3, generator=drawn)
    rows = [kl(t.tolist(), s.tolist(), 1.5) for t, s in zip(teacher, student, strict=True)]
    assert distillation_loss(student, teacher, temperature=1.5).item() == pytest.approx(sum(rows) / 5, rel=1e-5)


def test_gradients_reach_the_student_only():
    """d KL / d student = (softmax(student / T) − softmax(teacher / T)) / T."""
    student, teacher = STUDENT.clone().requires_grad_(), TEACHER.clone().requires_grad_()
    distillation_loss(student, teacher, temperature=2.0).backward()
    assert teacher.grad is None
    assert student.grad is not None
    assert student.grad.tolist()[0] == pytest.approx([(0.5 - 0.75) / 2, (0.5 - 0.25) / 2], rel=1e-5)


def test_regression_is_mean_squared_error_and_knows_no_temperature():
    student, teacher = torch.tensor([[1.0], [2.0]]).requires_grad_(), torch.tensor([[3.0], [1.0]]).requires_grad_()
    for temperature in (1.0, 10.0):
        loss = distillation_loss(student, teacher, temperature=temperature, regression=True, squared_temperature=True)
        assert loss.item() == pytest.approx((4 + 1) / 2)
    loss.backward()
    assert teacher.grad is None
    assert student.grad.flatten().tolist() == pytest.approx([-2.0, 1.0])


class TestLanguageModelling:
    LABELS = torch.tensor([[5, 6, -100, 7], [5, 1, -100, -100]])

    @pytest.fixture
    def logits(self):
        drawn = torch.Generator().manual_seed(1)
        return torch.randn(2, 4, 9, generator=drawn), torch.randn(2, 4, 9, generator=drawn)

    def by_hand(self, student, teacher, places):
        return [kl(teacher[r, t].tolist(), student[r, t].tolist(), 2.0) for r, t in places]

    def test_positions_whose_next_label_counts(self, logits):
        student, teacher = logits
        # position t tells token t + 1: labels at 1 and 3 of the first row, at 1 of the second
        rows = self.by_hand(student, teacher, [(0, 0), (0, 2), (1, 0)])
        found = distillation_loss(student, teacher, temperature=2.0, labels=self.LABELS)
        assert found.item() == pytest.approx(sum(rows) / 3, rel=1e-5)

    def test_without_labels_all_but_the_last_position(self, logits):
        student, teacher = logits
        rows = self.by_hand(student, teacher, [(r, t) for r in range(2) for t in range(3)])
        assert distillation_loss(student, teacher, temperature=2.0).item() == pytest.approx(sum(rows) / 6, rel=1e-5)

    def test_items_stand_for_the_number_of_positions(self, logits):
        student, teacher = logits
        rows = self.by_hand(student, teacher, [(0, 0), (0, 2), (1, 0)])
        found = distillation_loss(student, teacher, temperature=2.0, labels=self.LABELS, items=torch.tensor(12))
        assert found.item() == pytest.approx(sum(rows) / 12, rel=1e-5)

    def test_nothing_to_tell_costs_nothing(self, logits):
        student, teacher = logits
        assert distillation_loss(student, teacher, temperature=2.0, labels=torch.full((2, 4), -100)).item() == 0.0


def test_half_precision_is_computed_in_single():
    student, teacher = torch.tensor([[300.0, -300.0]]), torch.tensor([[301.0, -300.0]])
    exact = distillation_loss(student, teacher, temperature=100.0)
    half = distillation_loss(student.half(), teacher.half(), temperature=100.0)
    assert half.dtype == torch.float32
    assert half.item() == pytest.approx(exact.item(), rel=1e-4)
