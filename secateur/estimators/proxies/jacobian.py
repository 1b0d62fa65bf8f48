"""jacob_cov: how differently a network answers to small changes of different inputs (Mellor et al. 2020, first version)."""

from __future__ import annotations

import torch
from torch import Tensor

from secateur.errors import ConfigurationError, EvaluationFailure
from secateur.estimators.proxies.base import check_finite, proxy
from secateur.estimators.proxies.probe import Probe

#: Keeps the logarithm of an eigenvalue of zero finite, as in the paper.
EPSILON = 1e-5


@proxy()
def jacob_cov(probe: Probe) -> float:
    """−Σ (log(λ + k) + 1/(λ + k)) over the eigenvalues λ of the (N, N) correlations between the examples' Jacobians.

    Example n's Jacobian is the gradient of the sum of its outputs by its input, as a vector. For a language model the input is
    what its first layer gets and the output its last hidden states, so the vocabulary does not enter. They are summed with
    random normal weights (from the seed, one per channel): after a layer norm their plain sum is the same for every input.

    The correlation matrix is symmetric, so its eigenvalues are real; published code uses a solver for general matrices, which
    may return complex ones.
    """
    if probe.examples < 2:
        raise ConfigurationError(f"`jacob_cov` compares examples: its batch needs at least 2, got {probe.examples}.")
    jacobians = input_gradients(probe).double()
    centred = jacobians - jacobians.mean(dim=1, keepdim=True)
    lengths = centred.norm(dim=1, keepdim=True)
    if bool((lengths == 0).any()):
        raise EvaluationFailure("the Jacobian of an example is constant: it has no correlation with others.")
    unit = centred / lengths
    eigenvalues = torch.linalg.eigvalsh(unit @ unit.T).clamp(min=0)
    return -float((torch.log(eigenvalues + EPSILON) + 1 / (eigenvalues + EPSILON)).sum())


def input_gradients(probe: Probe) -> Tensor:
    """The gradients (N, features) of the weighted sum of each example's outputs by its own input."""
    leaves: list[Tensor] = []

    def leaf(value: Tensor) -> Tensor:
        leaves.append(value.detach().requires_grad_())
        return leaves[-1]

    weights = {name: tensor.detach() for name, tensor in probe.weights().items()}
    with probe.entering(leaf) as changed:
        output = probe.body_output(weights, changed(probe.inputs()))
    if probe.is_language_model:
        generator = torch.Generator().manual_seed(probe.seed)
        direction = torch.randn(output.shape[-1], generator=generator, dtype=torch.float64).to(output.device, output.dtype)
        output = output * direction
    if not output.requires_grad:
        raise EvaluationFailure("the network's output does not depend on its input.")
    found = torch.autograd.grad(output.sum(), leaves, allow_unused=True)
    pairs = zip(leaves, found, strict=True)
    rows = [torch.zeros_like(x).flatten(1) if g is None else g.flatten(1) for x, g in pairs]
    return check_finite(torch.cat(rows, dim=1), "the Jacobian")
