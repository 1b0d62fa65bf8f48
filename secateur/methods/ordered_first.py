"""What methods that slice the fine-tuned network begin with: its fine-tuning, and its heads and units sorted by importance."""

from __future__ import annotations

from safetensors.numpy import load_file

from secateur.methods.base import Step
from secateur.methods.fine_tuned_first import FineTunedFirst
from secateur.methods.ordering import order_by_importance
from secateur.supernet import Order, Supernet, reorder
from secateur.supernet.order import ORDER


class OrderedFirst(FineTunedFirst):
    """Two stages, `fine-tune` and `order`."""

    def network(self) -> Supernet:
        supernet = super().network()
        if self.bench.done("order"):
            reorder(supernet, Order.from_arrays(load_file(self.bench.networks / ORDER)))
        return supernet

    def stages(self) -> list[Step]:
        return [*super().stages(), ("order", lambda: order_by_importance(self.bench))]

    def passes(self) -> dict[str, float]:
        return {**super().passes(), "order": 3.0 * min(self.bench.c.importance_examples, len(self.bench.data.train))}
