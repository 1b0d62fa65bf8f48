"""Networks to measure: built without initialisation, on weights that are views of one buffer."""

from __future__ import annotations

from typing import Any

from secateur.architecture import Architecture
from secateur.decoders.decoders import config_of, model_class
from secateur.spaces.decoder_sizes import Sizes

#: Parameters start at multiples of this many numbers (256 bytes), as an allocator would have them.
_ALIGNED = 64


class Builder:
    """architecture → a network whose weights are random but shared with the other networks that this builder made.

    To be measured, not trained: a network's own weights do not overlap, so that caches see as much memory as in an ordinary
    network, but successive networks lie in the same buffer. The buffer grows to the largest network so far. All of them give
    log-probabilities, whatever their embedding.
    """

    def __init__(self, sizes: Sizes, *, seed: int = 0, device: str = "cpu", dtype: Any = None) -> None:
        self.sizes = sizes
        self.seed = seed
        self.device = device
        self.dtype = dtype
        self._buffer: Any = None

    def meta(self, architecture: Architecture) -> Any:
        """The network on the meta device, in eval mode: shapes without numbers."""
        import torch
        from transformers.initialization import no_init_weights

        config = config_of(architecture, self.sizes)
        with torch.device("meta"), no_init_weights():
            network = model_class(config.backbone)(config).eval()
            network.tie_weights()  # which goes with the initialisation that was left out
        network.normalises = True
        return network if self.dtype is None else network.to(self.dtype)

    def __call__(self, architecture: Architecture) -> Any:
        """The network with weights, in eval mode and without gradients."""
        import torch

        network = self.meta(architecture)
        wanted = {id(p): p for p in network.parameters()}
        sizes = {key: -(-p.numel() // _ALIGNED) * _ALIGNED for key, p in wanted.items()}
        buffer = self._filled(sum(sizes.values()))
        placed, at = {}, 0
        for key, parameter in wanted.items():
            view = buffer[at : at + parameter.numel()].view(parameter.shape)
            placed[key] = torch.nn.Parameter(view, requires_grad=False)
            at += sizes[key]
        for module in network.modules():
            for name, parameter in module._parameters.items():
                if parameter is not None:
                    module._parameters[name] = placed[id(parameter)]
        return network

    def _filled(self, numbers: int) -> Any:
        """The buffer, with at least so many normal numbers of deviation 0.02."""
        import torch

        if self._buffer is None or len(self._buffer) < numbers:
            generator = torch.Generator(self.device).manual_seed(self.seed)
            self._buffer = None  # the old one goes before the new one comes
            fresh = torch.empty(numbers, device=self.device, dtype=self.dtype or torch.float32)
            self._buffer = fresh.normal_(0.0, 0.02, generator=generator)
        return self._buffer
