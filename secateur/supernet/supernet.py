"""The supernet: a pre-trained network seen as the container of all its sub-networks."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import nn

from secateur.anatomy import anatomy_of
from secateur.anatomy.carving import put, without_cache
from secateur.spaces.pruning.plan import Plan
from secateur.supernet import counts
from secateur.supernet.ghosts import GhostStack, ghost_layers, materialise


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
        self.layers: nn.ModuleList = self.base.get_submodule(self.anatomy.layers)  # type: ignore[assignment]
        self._macs_outside: dict[tuple[int, int], int] = {}

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
        with self._standing_in(plan, GhostStack(ghost_layers(self.layers, plan, self.anatomy, self.shape))):
            yield self.model

    def extract(self, plan: Plan) -> Any:
        """A physically smaller copy of the model: what `select` runs, with weights of its own."""
        plan.check(self.shape)
        with torch.enable_grad():  # so that the views know whether they are trained
            ghosts = ghost_layers(self.layers, plan, self.anatomy, self.shape)
        materialise(ghosts)
        with self._standing_in(plan, nn.ModuleList(ghosts)):
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
    def _standing_in(self, plan: Plan, layers: nn.ModuleList) -> Iterator[None]:
        """Put layers in place of the model's own, with a configuration that fits them, and take all back."""
        config, generation = self.model.config, getattr(self.model, "generation_config", None)
        layer_types = getattr(config, "layer_types", None)
        depth, cached = config.num_hidden_layers, [(c, c.use_cache) for c in (config, generation) if hasattr(c, "use_cache")]
        hooked = {m: m.__dict__.get("_output_capturing_hooks_installed") for m in (self.model, self.base)}
        config.num_hidden_layers = len(plan.layers)
        if layer_types is not None:
            whole_types = self._layer_types()
            config.layer_types = [whole_types[p.index] for p in plan.layers]
        mixed = layer_types is not None and len(set(config.layer_types)) > 1
        if plan.attention_layers == 0 or (mixed and plan.attention_layers < len(plan.layers)):
            without_cache(self.model)
        try:
            with self.replaced(layers):
                yield
        finally:
            config.num_hidden_layers = depth
            if layer_types is not None:
                config.layer_types = layer_types
            for holder, use_cache in cached:
                holder.use_cache = use_cache
            for module, flag in hooked.items():  # hooks that were set on ghosts left with them
                if flag is None:
                    module.__dict__.pop("_output_capturing_hooks_installed", None)

    def _layer_types(self) -> Sequence[str]:
        if not hasattr(self, "_whole_layer_types"):
            self._whole_layer_types = list(self.model.config.layer_types)
        return self._whole_layer_types

    # Counting

    @property
    def counts(self) -> list[counts.LayerCounts]:
        if not hasattr(self, "_counts"):
            self._counts = [counts.count_layer(layer, self.anatomy, self.shape) for layer in self.layers]
        return self._counts

    def parameters(self, plan: Plan) -> int:
        """All trainable parameters of the sub-network, counted without building it."""
        return self._outside() + self.body_parameters(plan)

    def body_parameters(self, plan: Plan) -> int:
        """The parameters of the sub-network's layers: without embeddings, final norm, pooler and head."""
        return counts.body(self.counts, plan)

    def _outside(self) -> int:
        if not hasattr(self, "_parameters_outside"):
            everything = sum(p.numel() for p in self.model.parameters() if p.requires_grad)
            self._parameters_outside = everything - sum(p.numel() for p in self.layers.parameters() if p.requires_grad)
        return self._parameters_outside

    def macs(self, plan: Plan, batch: int = 1, length: int = 128) -> int:
        """Multiply-accumulate operations of one forward pass: all matrix products, attention's own included."""
        return self._outside_macs(batch, length) + counts.body_macs(self.counts, plan, batch, length)

    def _outside_macs(self, batch: int, length: int) -> int:
        """Embeddings and head: counted once, by running the network that has no layers."""
        if (batch, length) not in self._macs_outside:
            from torch.utils.flop_counter import FlopCounterMode

            device = next(self.model.parameters()).device
            tokens = torch.ones(batch, length, dtype=torch.long, device=device)
            if "MultipleChoice" in type(self.model).__name__:
                tokens = tokens[:, None]
            with self.select(Plan.of([])) as model, torch.no_grad(), FlopCounterMode(display=False) as counter:
                model(input_ids=tokens, attention_mask=torch.ones_like(tokens))
            self._macs_outside[batch, length] = counter.get_total_flops() // 2
        return self._macs_outside[batch, length]
