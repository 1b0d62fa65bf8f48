"""The distillation term: how far a student's outputs lie from its teacher's."""

from __future__ import annotations

import torch
import torch.nn.functional as F


def distillation_loss(
    student: torch.Tensor,
    teacher: torch.Tensor,
    *,
    temperature: float,
    regression: bool = False,
    squared_temperature: bool = False,
    labels: torch.Tensor | None = None,
    items: torch.Tensor | int | None = None,
) -> torch.Tensor:
    """KL(softmax(teacher / T) ‖ softmax(student / T)), the mean over the batch; mean-squared error for regression.

    `student` and `teacher` are logits (batch, classes), or (batch, length, vocabulary) for language models: then the mean is
    over the positions whose next label is not −100. `items` divides the sum in place of their number: the positions of all
    batches that make up one step. Klein et al. (2024, equation 2) write no factor T²; `squared_temperature` adds it
    (Hinton et al. 2015), which keeps the gradient's size independent of T. No gradient reaches the teacher.
    """
    student, teacher = student.float(), teacher.detach().float()
    if regression:
        return F.mse_loss(student, teacher)
    if student.ndim == 3:
        student, teacher = student[:, :-1].flatten(0, 1), teacher[:, :-1].flatten(0, 1)
        if labels is not None:
            counted = labels[:, 1:].flatten() != -100
            student, teacher = student[counted], teacher[counted]
    log_student = F.log_softmax(student / temperature, dim=-1)
    log_teacher = F.log_softmax(teacher / temperature, dim=-1)
    total = F.kl_div(log_student, log_teacher, reduction="sum", log_target=True)
    loss = total / (max(len(student), 1) if items is None else items)
    return loss * temperature**2 if squared_temperature else loss
