"""Steps of a training. On a GPU they are recorded once and replayed: launching a thousand small kernels takes longer than they
do. Imports torch."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

#: Steps before one is recorded: libraries make themselves ready in the first, and the optimiser its moments.
BEFORE = 3


class Steps:
    """Takes a step for the loss of some examples, by their places, with noise."""

    def __init__(
        self,
        network: nn.Module,
        optimiser: torch.optim.Optimizer,
        loss: Callable[[Tensor, torch.Generator], Tensor],
        clip: float | None,
    ) -> None:
        self._network, self._optimiser, self._loss, self._clip = network, optimiser, loss, clip
        self.device = next(network.parameters()).device
        #: What losses draw from.
        self.noise = torch.Generator(self.device)
        #: Steps that were not recorded, and how many examples the last of them had: the last batch of an epoch has fewer.
        self._taken, self._last = 0, torch.Size()
        #: A recorded step: the places that it reads, and the loss that it leaves.
        self._graph: torch.cuda.CUDAGraph | None = None
        self._places, self._left = torch.zeros(0), torch.zeros(())
        self._mode: bool | None = None

    def take(self, part: Tensor) -> Tensor:
        """Take a step for the examples in these places (b,), and return their loss."""
        if self.device.type != "cuda":
            return self._eager(part)
        if self._mode != self._network.training:  # what was recorded is of the other mode
            self._mode, self._graph, self._taken = self._network.training, None, 0
        if self._graph is None and self._taken >= BEFORE and part.shape == self._last:
            self._record(part)
        if self._graph is None or part.shape != self._places.shape:
            self._taken, self._last = self._taken + 1, part.shape
            return self._beside(part)
        self._places.copy_(part)
        self._graph.replay()
        return self._left

    def _eager(self, part: Tensor) -> Tensor:
        self._optimiser.zero_grad()
        return self._stepped(part)

    def _stepped(self, part: Tensor) -> Tensor:
        loss = self._loss(part, self.noise)
        loss.backward()  # type: ignore[no-untyped-call]
        if self._clip is not None:
            torch.nn.utils.clip_grad_norm_(self._network.parameters(), self._clip)
        self._optimiser.step()
        return loss.detach()

    def _beside(self, part: Tensor) -> Tensor:
        """A step on a stream of its own, as what comes before a recording has to be."""
        main, beside = torch.cuda.current_stream(self.device), torch.cuda.Stream(self.device)
        beside.wait_stream(main)
        with torch.cuda.stream(beside):
            loss = self._eager(part)
        main.wait_stream(beside)
        return loss

    def _record(self, part: Tensor) -> None:
        self._places = part.clone()
        self._optimiser.zero_grad(set_to_none=True)  # so that a replay writes gradients, and does not add to them
        graph = torch.cuda.CUDAGraph()
        graph.register_generator_state(self.noise)
        with torch.cuda.graph(graph):
            self._left = self._stepped(self._places)
        self._graph = graph
