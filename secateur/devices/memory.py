"""How much memory one forward pass needs at its peak: the weights, and the activations that are alive at the same time.

No cache of keys and values is kept, as in every other measurement but that of generation.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves

from secateur.anatomy.inputs import no_cache
from secateur.supernet.evaluating import in_evaluation_mode


@dataclass(frozen=True)
class Memory:
    """Bytes. `weights`: parameters and buffers, shared ones once. `activations`: the most that was alive at once beside them.

    `peak` is their sum. The inputs are left out, the outputs are not.
    """

    weights: int
    activations: int
    peak: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "peak", self.weights + self.activations)

    def __str__(self) -> str:
        mega = 1e6
        return f"{self.peak / mega:.4g} MB (weights {self.weights / mega:.4g} MB, activations {self.activations / mega:.4g} MB)"


def weight_bytes(model: nn.Module) -> int:
    """Bytes of the parameters and buffers, shared ones once.

    Of a storage that other networks use as well (weights that are views of one buffer), only the model's own part counts.
    """
    spans: dict[int, list[tuple[int, int]]] = {}
    for tensor in chain(model.parameters(), model.buffers()):
        if tensor.numel():
            reach = 1 + sum(int(n - 1) * int(stride) for n, stride in zip(tensor.shape, tensor.stride(), strict=True))
            start, size = int(tensor.storage_offset()), tensor.element_size()
            spans.setdefault(tensor.untyped_storage()._cdata, []).append((start * size, (start + reach) * size))
    total = 0
    for found in spans.values():
        end = 0
        for start, stop in sorted(found):
            total += max(0, stop - max(start, end))
            end = max(end, stop)
    return total


class LiveStorages(TorchDispatchMode):
    """Follows the storages that operations create, and when they are freed. `peak` is the most bytes alive at once.

    Works on any device, the meta device included, where nothing is computed. What a kernel allocates and frees inside
    itself is not seen. `known` tensors are not counted, nor are their views.
    """

    def __init__(self, known: Iterable[Tensor] = ()) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        # Views and tied weights have one storage. Those known are held, so that their identities are not given to new ones.
        self._known = {storage._cdata: storage for storage in (tensor.untyped_storage() for tensor in known)}
        self._alive: dict[int, weakref.ref[torch.UntypedStorage]] = {}
        self.now = 0
        self.peak = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, Tensor):
                self._follow(leaf.untyped_storage())
        return result

    def _follow(self, storage: torch.UntypedStorage) -> None:
        key, size = storage._cdata, storage.nbytes()
        if key in self._known or key in self._alive:
            return

        def freed(_: object) -> None:
            self._alive.pop(key, None)
            self.now -= size

        # A storage's Python object lives as long as the memory itself, so the reference dies when the memory is freed.
        self._alive[key] = weakref.ref(storage, freed)
        self.now += size
        self.peak = max(self.peak, self.now)


#: Attention as torch has it, whatever stands in its place meanwhile.
ATTENTION = nn.functional.scaled_dot_product_attention


class AttentionAsOnCpu(TorchFunctionMode):
    """On the meta device, attention makes the tensors that it makes on a CPU.

    Left to itself torch takes the plain way there, with a matrix of all scores, which the CPU's fused kernel never has.
    """

    def __init__(self) -> None:
        super().__init__()
        self._choices: dict[tuple[Any, ...], int] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is ATTENTION:
            return self.attend(*args, **kwargs)
        return func(*args, **kwargs)

    def attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Tensor:
        choose: Any = torch._fused_sdp_choice
        given = (query, key, value, attn_mask)
        options = {"dropout_p": dropout_p, "is_causal": is_causal, "scale": scale}
        if query.device.type == "meta" and not enable_gqa:
            shapes = tuple(None if t is None else (t.shape, t.stride(), t.dtype) for t in given)
            found = self._choices.get((*shapes, *options.values()))
            if found is None:
                with _disable_current_modes():
                    # Memory that nobody writes to is not taken from the machine.
                    real = [None if t is None else torch.empty_strided(t.shape, t.stride(), dtype=t.dtype) for t in given]
                    found = self._choices[(*shapes, *options.values())] = choose(*real, **options)
            if found == SDPBackend.FLASH_ATTENTION.value:
                if attn_mask is not None and attn_mask.dtype == torch.bool:
                    seen, unseen = (torch.scalar_tensor(v, dtype=query.dtype, device="meta") for v in (0.0, -math.inf))
                    attn_mask = torch.where(attn_mask, seen, unseen)
                fused = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
                return fused(query, key, value, dropout_p, is_causal, attn_mask=attn_mask, scale=scale)[0]  # type: ignore[no-any-return]
        return ATTENTION(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)


class PassStorages(LiveStorages):
    """The storages of forward passes of `model` on `inputs`, on a CPU or the meta device, beside weights and inputs."""

    def __init__(self, model: nn.Module, inputs: Mapping[str, Tensor]) -> None:
        super().__init__(chain(model.parameters(), model.buffers(), tree_leaves(dict(inputs))))
        self._run = lambda: model(**inputs, **no_cache(model))

    def follow(self) -> Self:
        """Run one pass, without gradients or a KV cache."""
        with torch.no_grad(), self, AttentionAsOnCpu():
            self._run()
        return self


def peak_memory(model: nn.Module, inputs: Mapping[str, Tensor]) -> Memory:
    """The true peak of one forward pass of `model` (eval mode, no KV cache) on `inputs`, on the device that they are on.

    On a GPU the activations are what torch's allocator reports (rounded up to its blocks), elsewhere live storages.
    """
    device = next(iter(inputs.values())).device
    # Not inference mode: there, composite operations reach the dispatch mode whole and hide their temporaries.
    with in_evaluation_mode(model), torch.no_grad():
        if device.type == "cuda":
            activations = _cuda_activations(model, inputs, device)
        else:
            activations = PassStorages(model, inputs).follow().peak
    return Memory(weight_bytes(model), activations)


def _cuda_activations(model: nn.Module, inputs: Mapping[str, Tensor], device: torch.device) -> int:
    options = no_cache(model)
    model(**inputs, **options)  # the first pass also allocates the libraries' workspaces, which stay
    torch.cuda.synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    model(**inputs, **options)
    torch.cuda.synchronize(device)
    return int(torch.cuda.max_memory_allocated(device)) - int(before)
