"""The zoo: blocks that are distilled when they are first needed, kept in memory and on disk."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from secateur.architecture import digest
from secateur.estimators.layer_zoo.blocks import Block, blocks_of
from secateur.estimators.layer_zoo.distilling import LEARNING_RATE, distil
from secateur.estimators.layer_zoo.features import Features, batches_digest
from secateur.estimators.shared_weights import weights_digest
from secateur.spaces.pruning.plan import Plan
from secateur.supernet import Supernet
from secateur.supernet.ghosts import ghost_layer, materialise
from secateur.writing import whole

#: Bytes of blocks that are kept in memory and on disk; what was not used for longest goes first, and can be made again.
MEMORY, DISK = 2**29, 2**32

Weights = dict[str, torch.Tensor]


class LayerZoo:
    """Distilled layers of a teacher, `supernet`, which must not change meanwhile.

    Each begins as a slice of the teacher's layer (its first heads and units, or those that a plan names) and is distilled on
    `batches`. `folder` keeps them by a fingerprint of the teacher's weights, the batches and the settings.
    """

    def __init__(
        self,
        supernet: Supernet,
        batches: Sequence[dict[str, torch.Tensor]],
        folder: Path,
        *,
        learning_rate: float = LEARNING_RATE,
        memory: int = MEMORY,
        disk: int = DISK,
    ) -> None:
        self.supernet, self.batches, self.learning_rate = supernet, batches, learning_rate
        self.memory, self.disk = memory, disk
        self.folder = folder / self.fingerprint
        self._kept: OrderedDict[str, Weights] = OrderedDict()

    @cached_property
    def fingerprint(self) -> str:
        return digest("layer zoo", weights_digest(self.supernet.model), batches_digest(self.batches), f"{self.learning_rate:g}")

    @cached_property
    def features(self) -> Features:
        return Features.of(self.supernet, self.batches)

    def network(self, plan: Plan) -> Any:
        """The sub-network of distilled layers, with all else from the teacher, in evaluation mode."""
        network = self.supernet.extract(plan)
        layers = network.base_model.get_submodule(self.supernet.anatomy.layers)
        for layer, block in zip(layers, blocks_of(plan, self.supernet.shape.layers), strict=True):
            layer.load_state_dict(self.weights(block))
        return network.eval()

    def weights(self, block: Block) -> Weights:
        """The weights of a block: from memory, from disk, or distilled now. Raises EvaluationFailure where that diverges."""
        key = block.key
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        found = self._read(key)
        if found is None:
            found = self._distilled(block)
            with whole(self._file(key)) as draft:
                save_file({name: value.cpu().contiguous() for name, value in found.items()}, draft)
            self._tidy_disk()
        self._kept[key] = found
        while len(self._kept) > 1 and sum(map(_bytes, self._kept.values())) > self.memory:
            self._kept.popitem(last=False)
        return found

    def slice(self, block: Block) -> nn.Module:
        """The block before its distillation, with weights of its own."""
        shared = self.supernet.layers[block.layer.index]
        ghost = ghost_layer(shared, block.layer, self.supernet.anatomy, self.supernet.shape)
        materialise([ghost])
        return copy.deepcopy(ghost)

    def _distilled(self, block: Block) -> Weights:
        layer = self.slice(block)
        if not block.is_whole(self.supernet.shape):
            distil(layer, block, self.features, self.learning_rate)
        return {name: value.detach() for name, value in layer.state_dict().items()}

    def _file(self, key: str) -> Path:
        return self.folder / f"{key}.safetensors"

    def _read(self, key: str) -> Weights | None:
        """A block from disk. One that cannot be read is made again."""
        file = self._file(key)
        try:
            found: Weights = load_file(file, device=str(next(self.supernet.model.parameters()).device))
            file.touch()
        except (OSError, SafetensorError):
            return None
        return found

    def _tidy_disk(self) -> None:
        """Remove what was not used for longest where there is too much. Other processes may do so, too."""
        files = []
        for path in self.folder.glob("*.safetensors"):
            with suppress(OSError):
                facts = path.stat()
                files.append((facts.st_mtime_ns, facts.st_size, path))
        total = sum(size for _, size, _ in files)
        for _, size, path in sorted(files)[:-1]:
            if total > self.disk:
                path.unlink(missing_ok=True)
                total -= size


def _bytes(weights: Weights) -> int:
    return sum(value.numel() * value.element_size() for value in weights.values())
