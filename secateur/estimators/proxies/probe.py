"""A network under examination: run on copies of its weights, in a chosen precision, and left exactly as it was."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.hooks import RemovableHandle

from secateur.errors import ConfigurationError, EvaluationFailure
from secateur.estimators.proxies.body import (
    body_parameters,
    decoder_modules,
    input_lookup,
    is_language_model,
    output_embeddings,
)
from secateur.supernet.evaluating import no_cache

#: Arguments of `forward`, by name, and `labels`. The first dimension of each tensor is the example.
Batch = Mapping[str, Tensor]
#: Output (its `logits` where it has them) and labels → the mean loss.
Loss = Callable[[Tensor, Tensor], Tensor]


class _Reached(Exception):  # noqa: N818 - no error: the body's output is there, and what follows need not run
    def __init__(self, output: Tensor) -> None:
        self.output = output


@dataclass(frozen=True)
class Probe:
    """`network` with one `batch`. Everything runs on detached copies (`weights`), so no gradient reaches the network itself."""

    network: nn.Module
    batch: Batch
    seed: int = 0
    loss_function: Loss | None = None
    double: bool = False

    @cached_property
    def body(self) -> dict[str, nn.Parameter]:
        """Name → parameter of the part that scores count."""
        return body_parameters(self.network)

    @property
    def examples(self) -> int:
        """How many examples the batch has."""
        return len(next(iter(self.batch.values())))

    @cached_property
    def device(self) -> torch.device:
        return next((p.device for p in self.network.parameters()), torch.device("cpu"))

    @cached_property
    def has_batch_norm(self) -> bool:
        """Whether an example's output depends on the others of its batch."""
        return any(isinstance(module, _BatchNorm) for module in self.network.modules())

    def weights(self) -> dict[str, Tensor]:
        """Name → parameter or buffer, detached, in float64 where asked for. Those of the body want gradients."""
        tensors: dict[str, Tensor] = {}
        for name, parameter in self.network.named_parameters():
            tensors[name] = self._precise(parameter.detach())
            if name in self.body and tensors[name].is_floating_point():
                tensors[name].requires_grad_()
        for name, buffer in self.network.named_buffers():
            tensors[name] = self._precise(buffer.detach().clone())  # batch norms write to theirs
        return tensors

    def inputs(self) -> dict[str, Tensor]:
        """The batch without its labels, on the network's device and in its precision."""
        return {name: self._precise(value.to(self.device)) for name, value in self.batch.items() if name != "labels"}

    def labels(self) -> Tensor:
        if "labels" not in self.batch:
            raise ConfigurationError("`labels` must be in the batch: this proxy needs a loss.")
        return self.batch["labels"].to(self.device)

    def run(self, weights: Mapping[str, Tensor], inputs: Mapping[str, Any]) -> Any:
        """The network's output on `inputs`, with `weights` in the place of its own."""
        return functional_call(self.network, dict(weights), (), {**no_cache(self.network), **inputs})

    def loss(self, weights: Mapping[str, Tensor]) -> Tensor:
        """The mean loss of the batch: the network's own, or that of `loss_function`.

        Raises:
            EvaluationFailure: where it is not finite.
        """
        labels = self.labels()
        if self.loss_function is not None:
            loss = self.loss_function(logits_of(self.run(weights, self.inputs())), labels)
        else:
            output = self.run(weights, {**self.inputs(), "labels": labels})
            found = getattr(output, "loss", None)
            if not isinstance(found, Tensor):
                kind = type(self.network).__name__
                raise ConfigurationError(f"`{kind}` returns no `loss` for a batch with labels: give the proxy a loss function.")
            loss = found
        loss = loss if loss.ndim == 0 else loss.mean()
        if not torch.isfinite(loss):
            raise EvaluationFailure(f"the loss is {loss.item()}.")
        return loss

    def gradients(self, loss: Tensor, tensors: Mapping[str, Tensor], *, graph: bool = False) -> dict[str, Tensor]:
        """∂loss/∂tensor by name; zeros where the loss does not depend on it."""
        named = {name: t for name, t in tensors.items() if t.requires_grad}
        if not loss.requires_grad or not named:
            raise EvaluationFailure("the loss does not depend on any weight of the network's body.")
        found = torch.autograd.grad(loss, list(named.values()), create_graph=graph, allow_unused=True)
        return {name: torch.zeros_like(t) if g is None else g for (name, t), g in zip(named.items(), found, strict=True)}

    def body_output(self, weights: Mapping[str, Tensor], inputs: Mapping[str, Any]) -> Tensor:
        """What the body ends in: the last hidden states of a language model (its softmax is not run), else the logits."""
        modules, head = decoder_modules(self.network), output_embeddings(self.network)
        ends = [modules[-1].register_forward_hook(_stop_after)] if modules else []
        if head is not None and not modules:
            ends = [head.register_forward_pre_hook(_stop_before)]
        with hooked(ends):
            try:
                return logits_of(self.run(weights, inputs))
            except _Reached as reached:
                return reached.output

    @contextlib.contextmanager
    def entering(
        self, change: Callable[[Tensor], Tensor], *, zero_others: bool = False
    ) -> Iterator[Callable[[Mapping[str, Tensor]], dict[str, Tensor]]]:
        """Change what enters the network: of a decoder what its first layer gets, else the floating-point inputs or, where
        there are none, the embedded tokens.

        Yields the function that turns inputs into those to run with. `zero_others`: other embeddings (positions) give zeros.
        """
        modules = decoder_modules(self.network)
        if modules:
            with hooked([modules[0].register_forward_pre_hook(lambda _module, args: (change(args[0]), *args[1:]))]):
                yield dict
            return
        inputs = self.inputs()
        if any(value.is_floating_point() for value in inputs.values()):
            yield lambda given: {name: change(v) if v.is_floating_point() else v for name, v in given.items()}
            return
        lookup = input_lookup(self.network)
        if lookup is None:
            raise ConfigurationError(
                f"`{type(self.network).__name__}` takes no floating-point input and has no embedding: this proxy has nothing "
                "to differentiate by."
            )
        hooks = [lookup.register_forward_hook(lambda _module, _args, output: change(output))]
        inside = set(lookup.modules())
        for module in self.network.modules() if zero_others else ():
            if isinstance(module, nn.Embedding) and module not in inside:
                hooks.append(module.register_forward_hook(lambda _module, _args, output: torch.zeros_like(output)))
        with hooked(hooks):
            yield dict

    @property
    def is_language_model(self) -> bool:
        return is_language_model(self.network)

    def _precise(self, tensor: Tensor) -> Tensor:
        return tensor.double() if self.double and tensor.is_floating_point() else tensor


def logits_of(output: Any) -> Tensor:
    """The tensor of a network's output: itself, its `logits`, or the first of several."""
    if isinstance(output, Tensor):
        return output
    logits = getattr(output, "logits", None)
    if isinstance(logits, Tensor):
        return logits
    if isinstance(output, tuple | list) and output and isinstance(output[0], Tensor):
        return output[0]
    raise ConfigurationError(
        f"a network's output must be a tensor, have `logits` or be a tuple, got `{type(output).__name__}`."
    )


@contextlib.contextmanager
def hooked(handles: Iterable[RemovableHandle]) -> Iterator[None]:
    """Within: these hooks. Afterwards they are gone, whatever happens."""
    with contextlib.ExitStack() as stack:
        for handle in handles:
            stack.callback(handle.remove)
        yield


def _stop_after(_module: nn.Module, _args: Any, output: Any) -> None:
    raise _Reached(logits_of(output))


def _stop_before(_module: nn.Module, args: tuple[Any, ...]) -> None:
    raise _Reached(args[0])


@contextlib.contextmanager
def untouched(network: nn.Module, seed: int) -> Iterator[None]:
    """Within: dropout off, batch norms by batch, random numbers from `seed`, attention that can be differentiated twice.

    Afterwards modes and random states are what they were. Batch norms keep to the statistics of the batch because an untrained
    network has no others; their running averages are copies, so the network's own do not move.
    """
    modes = [(module, module.training) for module in network.modules()]
    device = next((p.device for p in network.parameters()), torch.device("cpu"))
    on_gpu = [device.index or 0] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=on_gpu), sdpa_kernel(SDPBackend.MATH), torch.enable_grad():
        torch.default_generator.manual_seed(seed)
        if on_gpu:
            with torch.cuda.device(on_gpu[0]):
                torch.cuda.manual_seed(seed)
        try:
            for module, _ in modes:
                module.training = isinstance(module, _BatchNorm)
            yield
        finally:
            for module, training in modes:
                module.training = training
