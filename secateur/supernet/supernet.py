"""The supernet: a pre-trained network seen as the container of all its sub-networks."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from secateur.anatomy import anatomy_of
from secateur.anatomy.base import has_module
from secateur.anatomy.carving import put, without_cache
from secateur.anatomy.inputs import CHOICES, blank_inputs, is_multiple_choice, read_length
from secateur.errors import ModelError
from secateur.spaces.pruning.plan import Plan
from secateur.supernet import counts
from secateur.supernet.ghosts import NO_REFUSALS, REFUSALS, GhostStack, ghost_layers, instance_attributes, materialise

#: Where transformers notes that a model's layers record their hidden states and attentions.
_RECORDING = "_output_capturing_hooks_installed"


class Supernet:
    """Wraps a transformers model. The model stays whole and usable; sub-networks borrow its weights.

    with supernet.select(plan) as model:
        loss = model(**batch).loss      # costs what the sub-network costs
    loss.backward()                     # gradients reach the shared weights
    small = supernet.extract(plan)      # a physically smaller copy
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.anatomy = anatomy_of(model.config)
        self.shape = self.anatomy.shape(model.config)
        self.base: nn.Module = model.base_model
        self.layers: nn.ModuleList = self._stack()
        # A model inside the model may be the one whose layers record: OPT keeps them in its decoder.
        self._recorders = [module for module in model.modules() if hasattr(module, "base_model_prefix")]
        self._macs_outside: dict[tuple[int, int, tuple[str, ...]], int] = {}
        self._nested = 0

    def _stack(self) -> Any:
        import transformers

        paths = [
            self.anatomy.layers,
            *(f"{self.anatomy.layers}.0.{cut.module}" for cut in self.anatomy.cuts if not cut.optional),
        ]
        for path in paths:
            if not has_module(self.base, path):
                raise ModelError(
                    f"a `{type(self.model).__name__}` of transformers {transformers.__version__} has no `{path}`, where the "
                    f"family `{self.anatomy.family}` keeps it. Install another version of transformers, or one of Secateur."
                )
        return self.base.get_submodule(self.anatomy.layers)

    @property
    def after_first(self) -> nn.Module | None:
        """What runs between the first layer and the second, in a model that has such a module."""
        path = self.anatomy.after_first
        return self.base.get_submodule(path) if path and has_module(self.base, path) else None

    @property
    def heads_alike(self) -> bool:
        """Whether heads must be ordered alike in all layers: they share a table with a column for each head."""
        return self.anatomy.head_bias is not None

    @property
    def whole(self) -> Plan:
        """The plan of the unpruned network."""
        return Plan.whole(self.shape)

    @contextlib.contextmanager
    def select(self, plan: Plan) -> Iterator[Any]:
        """Within the context the model is the sub-network. Nests (the inner plan counts), and always restores.

        Only forward and backward may happen inside; saving, counting, moving and switching modes raise SecateurError.
        """
        plan.check(self.shape)
        stack = GhostStack(ghost_layers(self.layers, plan, self.anatomy, self.shape))
        with (
            self.standing_in(plan, stack),
            instance_attributes(self.model, REFUSALS),
            instance_attributes(self.base, REFUSALS),
        ):
            yield self.model

    def extract(self, plan: Plan) -> Any:
        """A physically smaller copy of the model: what `select` runs, with weights of its own."""
        plan.check(self.shape)
        ghosts = ghost_layers(self.layers, plan, self.anatomy, self.shape)
        materialise(ghosts)
        stack = nn.ModuleList(ghosts)
        stack.training = self.layers.training
        free = instance_attributes(self.model, NO_REFUSALS), instance_attributes(self.base, NO_REFUSALS)  # also inside `select`
        with self.standing_in(plan, stack), free[0], free[1]:
            return copy.deepcopy(self.model)

    @contextlib.contextmanager
    def replaced(self, layers: nn.ModuleList) -> Iterator[Any]:
        """Within the context the model runs these layers instead of its own."""
        current = self.base.get_submodule(self.anatomy.layers)
        put(self.base, self.anatomy.layers, layers)
        try:
            yield self.model
        finally:
            put(self.base, self.anatomy.layers, current)

    @contextlib.contextmanager
    def standing_in(self, plan: Plan, layers: nn.ModuleList) -> Iterator[None]:
        """Within the context these layers, of the plan's number, stand in the model, with a configuration that fits them."""
        stack = self.anatomy.stack(plan)
        config: Any = self.model.config
        generation: Any = getattr(self.model, "generation_config", None)
        depth, layer_types = config.num_hidden_layers, getattr(config, "layer_types", None)
        cached = [(holder, holder.use_cache) for holder in (config, generation) if hasattr(holder, "use_cache")]
        recording = {module: module.__dict__.get(_RECORDING) for module in self._recorders}
        if not self._nested:  # what holds for the shared layers, and with it for every ghost that is cloned from them
            self._shared = recording, cached, layer_types
        self._nested += 1
        shared_recording, shared_cached, shared_types = self._shared
        try:
            config.num_hidden_layers = len(stack)
            for holder, use_cache in shared_cached:
                holder.use_cache = use_cache
            if shared_types is not None:
                config.layer_types = [shared_types[p.index] for p in stack]
            mixed = shared_types is not None and len(set(config.layer_types)) > 1
            if plan.attention_layers == 0 or (mixed and plan.attention_layers < len(plan.layers)):
                without_cache(self.model)
            self._note_recording(shared_recording)
            with self.replaced(layers):
                yield
        finally:
            self._nested -= 1
            config.num_hidden_layers = depth
            if layer_types is not None:
                config.layer_types = layer_types
            for holder, use_cache in cached:
                holder.use_cache = use_cache
            self._note_recording(recording)  # hooks that were set on ghosts left with them

    def _note_recording(self, noted: dict[Any, bool | None]) -> None:
        for module, flag in noted.items():
            module.__dict__.pop(_RECORDING, None)
            if flag is not None:
                module.__dict__[_RECORDING] = flag

    # Counting

    @property
    def counts(self) -> list[counts.LayerCounts]:
        if not hasattr(self, "_counts"):
            self._counts = [counts.count_layer(layer, self.anatomy, self.shape, self.model.config) for layer in self.layers]
        return self._counts

    def parameters(self, plan: Plan) -> int:
        """All trainable parameters of the sub-network, counted without building it."""
        return self._outside() + self.body_parameters(plan)

    def body_parameters(self, plan: Plan) -> int:
        """The parameters of the sub-network's layers: without embeddings, final norm, pooler and head."""
        return counts.body(self.counts, plan)

    def _outside(self) -> int:
        if not hasattr(self, "_parameters_outside"):
            with self.replaced(self.layers):  # also inside `select`
                everything = sum(int(p.numel()) for p in self.model.parameters() if p.requires_grad)
            self._parameters_outside: int = everything - sum(p.numel() for p in self.layers.parameters() if p.requires_grad)
        return self._parameters_outside

    def macs(self, plan: Plan, batch: int = 1, length: int = 128) -> int:
        """Multiply-accumulate operations of one forward pass: all matrix products, attention's own included.

        `batch` texts of `length` tokens, or for a multiple-choice model `batch` questions with 4 answers of that length each.
        A model that reads images reads `batch` of its own size, whatever `length` is.
        """
        length = read_length(self.model.config, length)
        texts = batch * CHOICES if is_multiple_choice(self.model) else batch
        return self._outside_macs(plan, batch, length) + counts.body_macs(self.counts, plan, texts, length)

    def _outside_macs(self, plan: Plan, batch: int, length: int) -> int:
        """Embeddings and head: counted once, by running the network that has no layers. For each kind of attention that layers
        of the plan have, some models compute rotary angles."""
        config: Any = self.model.config
        kinds = self._shared[2] if self._nested else getattr(config, "layer_types", None)  # also inside `select`
        key = batch, length, tuple(sorted({kinds[p.index] for p in self.anatomy.stack(plan)})) if kinds else ()
        if key not in self._macs_outside:
            from torch.utils.flop_counter import FlopCounterMode

            inputs, nothing = blank_inputs(self.model, batch, length), Plan.of([])
            running = self.standing_in(nothing, nn.ModuleList()) if kinds else self.select(nothing)
            with (
                self._some_padding_id(),
                running,
                torch.no_grad(),
                FlopCounterMode(display=False) as counter,
            ):
                if kinds:
                    config.layer_types = list(key[-1])
                self.model(**inputs)
            self._macs_outside[key] = counter.get_total_flops() // 2
        return self._macs_outside[key]

    @contextlib.contextmanager
    def _some_padding_id(self) -> Iterator[None]:
        """A decoder that classifies refuses several texts where its configuration names no padding id; here none is padded."""
        config: Any = self.model.config
        before = getattr(config, "pad_token_id", None)
        config.pad_token_id = 0 if before is None else before
        try:
            yield
        finally:
            config.pad_token_id = before
