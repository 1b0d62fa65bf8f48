"""All depths from one pass: a network of depth L computes the hidden states of every shallower one on its way.

Each then goes through the head. The head is run by the model itself on a stack that replays a stored hidden state, so that
final norms, poolers and every kind of head need no code of their own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from secateur.spaces.pruning.plan import Plan
from secateur.supernet.evaluating import no_cache
from secateur.supernet.ghosts import instance_attributes
from secateur.supernet.supernet import Supernet

Batch = Mapping[str, torch.Tensor]


class _Replay(nn.Module):
    """A layer that returns what it was given beforehand, whatever comes in, in the form in which the model's layers do."""

    def __init__(self, first: nn.Module) -> None:
        super().__init__()
        self.states: torch.Tensor | None = None
        #: How many outputs the model's layers return in a tuple; 0 where they return their states alone.
        self.several = 0
        self.attention_type = getattr(first, "attention_type", None)  # ModernBERT asks the layer which mask it wants

    def note(self, module: nn.Module, args: Any, output: Any) -> None:
        """A hook that tells the form."""
        self.several = len(output) if isinstance(output, tuple) else 0

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        assert self.states is not None
        return (self.states, *[None] * (self.several - 1)) if self.several else self.states


class _Before:
    """The modules beside the stack that run before it (embeddings, rotary angles), and what they returned.

    A replayed state makes their work vain, so they return the same again instead of doing it once more for each depth.
    """

    def __init__(self, supernet: Supernet) -> None:
        first = supernet.anatomy.layers.split(".")[0]
        self.modules = [module for name, module in supernet.base.named_children() if name != first]
        self.returned: dict[nn.Module, Any] = {}
        self.several: set[nn.Module] = set()
        self.open = True

    def hook(self, module: nn.Module, args: Any, output: Any) -> None:
        if self.open:
            if module in self.returned:
                self.several.add(module)  # one that is asked twice must not answer the same twice
            self.returned[module] = output

    @contextlib.contextmanager
    def recorded(self) -> Iterator[None]:
        """Within the context, what the modules return is noted."""
        self.returned, self.several, self.open = {}, set(), True
        handles = [module.register_forward_hook(self.hook) for module in self.modules]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()
        self.returned = {m: output for m, output in self.returned.items() if m not in self.several}


@contextlib.contextmanager
def _repeated(returned: Mapping[nn.Module, Any]) -> Iterator[None]:
    """Within the context, the modules return what they returned."""
    with contextlib.ExitStack() as stack:
        for module, output in returned.items():
            stack.enter_context(instance_attributes(module, {"forward": lambda *a, _output=output, **k: _output}))
        yield


@contextlib.contextmanager
def sweeping(supernet: Supernet, plan: Plan, depths: Sequence[int]) -> Iterator[Callable[[Batch], Iterator[tuple[int, Any]]]]:
    """Selects once, for many batches. Gives a function from a batch to pairs of a depth and its output, from one pass through
    the layers: of all of `plan` first, then of its first d for each d of `depths`, ascending.

    An output is computed when it is asked for and not kept: use it up before the next, and logits of one depth are alive at a
    time. Decoders store no keys and values.
    """
    wanted = sorted({d for d in depths if d < len(plan.layers)})
    captured: dict[int, torch.Tensor] = {}
    before = _Before(supernet)
    replay = _Replay(supernet.layers[0])
    empty = len(supernet.anatomy.stack(plan)) - len(plan.layers)
    options = no_cache(supernet.model)
    with supernet.select(plan) as model:
        stack: Any = supernet.base.get_submodule(supernet.anatomy.layers)

        def keep(place: int) -> Any:
            def hook(module: nn.Module, args: Any, kwargs: Any) -> None:
                before.open = False
                if place - empty in wanted:
                    captured[place - empty] = args[0] if args else kwargs["hidden_states"]

            return hook

        for place, layer in enumerate(stack):  # ghosts: their hooks end with them
            layer.register_forward_pre_hook(keep(place), with_kwargs=True)
            layer.register_forward_hook(replay.note)

        def head(batch: Mapping[str, Any], place: int, states: torch.Tensor, returned: Mapping[nn.Module, Any]) -> Any:
            replay.states = states
            # What the model does after its first layer is in a later state already, and must not be done to it again.
            times = 2 if supernet.anatomy.after_first and place else 1
            try:
                with (
                    supernet.standing_in(Plan.uniform(times, 1, 1), nn.ModuleList([replay] * times)),
                    _repeated(returned),
                ):
                    return model(**batch)
            finally:
                replay.states = None

        def run(batch: Batch) -> Iterator[tuple[int, Any]]:
            inputs: dict[str, Any] = {**options, **batch}
            captured.clear()
            with before.recorded() if wanted else contextlib.nullcontext():
                output = model(**inputs)
            # This batch's own, and no context is open while an output is out: the caller may stop at any depth.
            states, returned = dict(captured), before.returned
            captured.clear()
            yield len(plan.layers), output
            del output
            for depth in wanted:
                yield depth, head(inputs, depth + empty, states.pop(depth), returned)

        yield run


def sweep(supernet: Supernet, plan: Plan, depths: Sequence[int], batch: Batch) -> dict[int, Any]:
    """Outputs of the first d layers of `plan`, for each d of `depths` and for the whole plan, from one pass through them."""
    with sweeping(supernet, plan, depths) as run:
        return dict(run(batch))
