"""Proxies from the loss's gradient by the weights: grad_norm, SNIP and GraSP.

Sums run over the body's parameters (weights, biases, norms). For language models the loss is the usual one, over the whole
vocabulary, but neither embeddings nor the output projection are summed over, so their size does not enter the score.
The published code of zero-cost NAS (Abdelfattah et al. 2021) sums over the weights of convolutions and linear layers, the
projection to the vocabulary among them.
"""

from __future__ import annotations

from torch import Tensor

from secateur.estimators.proxies.base import check_finite, proxy
from secateur.estimators.proxies.probe import Probe


@proxy()
def grad_norm(probe: Probe) -> float:
    """Σ over tensors W of ‖∂L/∂W‖₂ (Abdelfattah et al. 2021)."""
    _, gradients = _loss_gradients(probe)
    return sum(float(gradient.double().norm()) for gradient in gradients.values())


@proxy()
def snip(probe: Probe) -> float:
    """Σ |w · ∂L/∂w| (Lee et al. 2019, connection sensitivity; not divided by its sum, which would make every score 1)."""
    weights, gradients = _loss_gradients(probe)
    return sum(float((weights[name].detach().double() * g.double()).abs().sum()) for name, g in gradients.items())


@proxy()
def grasp(probe: Probe) -> float:
    """−Σ w · (H g), with g = ∂L/∂w and H the Hessian by the same weights (Wang et al. 2020).

    H g is the gradient of ½‖g‖² and comes from a second backward pass through the first. Gradient and Hessian are those of the
    same batch and of the loss itself: the authors' code takes them from different halves and divides logits by 200.
    """
    weights, gradients = _loss_gradients(probe, graph=True)
    half_square: Tensor = sum((g * g.detach()).sum() for g in gradients.values())  # type: ignore[assignment]
    if not half_square.requires_grad:
        return 0.0  # the loss is linear in the weights: its Hessian is zero
    products = probe.gradients(half_square, weights)
    total = 0.0
    for name, product in products.items():
        check_finite(product, f"the Hessian-gradient product by `{name}`")
        total -= float((weights[name].detach().double() * product.double()).sum())
    return total


def _loss_gradients(probe: Probe, *, graph: bool = False) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The weights, and the gradients of the body's by name, all finite."""
    weights = probe.weights()
    gradients = probe.gradients(probe.loss(weights), weights, graph=graph)
    for name, gradient in gradients.items():
        check_finite(gradient, f"the gradient by `{name}`")
    return weights, gradients
