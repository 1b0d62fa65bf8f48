"""A zoo of blocks for images: cut out of the reference network, distilled on a few batches, made when first asked for."""

from __future__ import annotations

import copy
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor, nn

from secateur.architecture import Architecture, digest
from secateur.errors import ConfigurationError
from secateur.estimators.block_zoo.distil import distil_block
from secateur.estimators.block_zoo.reference import load_tensors, save_tensors, state_digest
from secateur.estimators.block_zoo.remapping import ORDERS, remap
from secateur.estimators.proxies.estimator import batch_digest
from secateur.images.mobilenet import MobileNetwork, Stage, initialise
from secateur.settings import Settings, option
from secateur.spaces.mobilenet import expansions_of

NONE = "none"


@dataclass(frozen=True, kw_only=True)
class ZooSettings(Settings):
    """How blocks are made. The paper's zoo is remapped and distilled; without one of the two it is the paper's ablations."""

    remap: str = option(
        "first", "Channels that a block takes from the reference: first, importance, or none.", known=(*ORDERS, NONE)
    )
    distil: bool = option(True, "Match the reference block's answers on the batches, one step each.")
    learning_rate: float = option(0.03, "The learning rate of the distillation (Adam).", above=0, most=1)
    recalibrate: bool = option(True, "Compute the statistics of the assembled network's batch norms anew, on the batches.")
    seed: int = option(0, "The seed of the weights of blocks that take none from the reference.", least=0, below=2**32)


class BlockZoo:
    """Blocks by stage and expansions, and networks assembled from them: the reference's stem and head around blocks.

    `batches` are what blocks are distilled on, each with `pixel_values` and `labels`. A block gets the reference's features
    before its stage, and is to give those behind it. Blocks are kept in memory, and in `folder` where there is one, under the
    zoo's fingerprint (of the blocks: what is made of an assembled network is not in it): bit for bit the same each time.
    """

    def __init__(
        self,
        reference: MobileNetwork,
        batches: Sequence[Mapping[str, Tensor]],
        settings: ZooSettings | None = None,
        folder: Path | None = None,
    ) -> None:
        if not batches:
            raise ConfigurationError("`batches` must hold at least one batch of images, got none.")
        self.reference, self.batches = reference.eval(), list(batches)
        self.settings = (settings or ZooSettings()).check()
        self.fingerprint = digest(
            "block zoo 1",
            state_digest(reference),
            reference.architecture.key,
            str(reference.sizes.as_dict()),
            batch_digest(self.batches),
            str({name: value for name, value in self.settings.as_dict().items() if name != "recalibrate"}),
        )
        self.folder = None if folder is None else folder / self.fingerprint
        self._blocks: dict[tuple[int, tuple[int, ...]], Stage] = {}

    @cached_property
    def features(self) -> list[list[Tensor]]:
        """Of each batch, what each stage of the reference gets and gives."""
        with torch.no_grad():
            return [self.reference.features(batch["pixel_values"]) for batch in self.batches]

    def block(self, stage: int, expansions: tuple[int, ...]) -> Stage:
        """A copy of a block: train it, and the zoo's own stays as it is. Raises ConfigurationError for one that the reference
        is too small for."""
        key = (stage, expansions)
        if key not in self._blocks:
            self._blocks[key] = self._found(stage, expansions)
        return copy.deepcopy(self._blocks[key])

    def _found(self, stage: int, expansions: tuple[int, ...]) -> Stage:
        path = None if self.folder is None else self.folder / f"{stage + 1}-{'-'.join(map(str, expansions))}.safetensors"
        block = Stage(self.reference.sizes.layers(stage, expansions)).eval()
        device = self.batches[0]["pixel_values"].device
        if path is not None and path.is_file():
            load_tensors(block, path)
            return block.to(device)
        if self.settings.remap == NONE:
            self._fresh(block, stage, expansions)
        else:
            source = self.reference.stages[stage]
            assert isinstance(source, Stage)
            remap(source, block, self.settings.remap)
        block.to(device)
        if self.settings.distil:
            pairs = ((given[stage], given[stage + 1]) for given in self.features)
            distil_block(block, pairs, learning_rate=self.settings.learning_rate)
        if path is not None:
            save_tensors(block, path)
        return block

    def _fresh(self, block: Stage, stage: int, expansions: tuple[int, ...]) -> None:
        """Weights that depend on the seed and on which block it is, not on those made before."""
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(zlib.crc32(f"{self.settings.seed} {stage} {expansions}".encode()))
            initialise(block)

    def assemble(self, architecture: Architecture, recalibrated: bool | None = None) -> MobileNetwork:
        """The network of an architecture, in evaluation mode: the reference's stem and head around blocks, all copies.

        `recalibrated` says whether its batch norms' statistics are computed anew, whatever the settings say.
        """
        network = MobileNetwork(architecture, self.reference.sizes)
        network.stem, network.head = copy.deepcopy(self.reference.stem), copy.deepcopy(self.reference.head)
        network.stages = nn.ModuleList(self.block(s, chosen) for s, chosen in enumerate(expansions_of(architecture)))
        network.to(self.batches[0]["pixel_values"].device)
        if self.settings.recalibrate if recalibrated is None else recalibrated:
            recalibrate(network, self.batches)
        return network.eval()

    @torch.no_grad()
    def score(self, architecture: Architecture, recalibrated: bool | None = None) -> float:
        """The mean accuracy of the assembled network on the batches."""
        network = self.assemble(architecture, recalibrated)
        shares = [
            float((network(batch["pixel_values"]).argmax(1) == batch["labels"]).double().mean()) for batch in self.batches
        ]
        return sum(shares) / len(shares)


@torch.no_grad()
def recalibrate(network: nn.Module, batches: Sequence[Mapping[str, Tensor]]) -> None:
    """Make the batch norms' statistics those of these batches: the mean over them, each norm behind recalibrated ones.

    The network is in evaluation mode afterwards.
    """
    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    momenta = [norm.momentum for norm in norms]
    network.eval()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # a plain average over all batches
        norm.train()
    for batch in batches:
        network(batch["pixel_values"])
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    network.eval()
