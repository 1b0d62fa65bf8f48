"""What a way to prune is: stages before the search, and how the search scores a candidate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from secateur.architecture import Architecture
from secateur.estimators.base import Estimator

if TYPE_CHECKING:
    import numpy as np

    from secateur.estimators.latency_model import LatencyModel
    from secateur.spaces.pruning import PruningSpace
    from secateur.supernet import Supernet
    from secateur.tasks import TaskData
    from secateur.training.logs import Logs

#: A stage's name in the journal, and what is done.
Step = tuple[str, Callable[[], None]]
#: Log rows of a training.
Rows = list[dict[str, float]]
#: The folder of trials that have weights of their own, a folder for each key.
TRIALS = "trials"
#: Settings of `secateur prune` that some methods use and others do not.
SOME: tuple[str, ...] = ("strategy", "k", "depths", "order", "order_epochs", "learning_rate", "trial_epochs", "drop", "masks")
SOME += ("mask_epochs", "mask_budget", "mask_learning_rate", "mask_weights", "zoo_batches")


class Bench(Protocol):
    """What a method works on: the run's settings, data, network and space, and a folder for what it leaves."""

    c: Any
    data: TaskData
    supernet: Supernet
    space: PruningSpace
    device: str
    progress: Any
    #: Tokens of a text that operations are counted for.
    length: int
    #: Where trainings are logged to.
    logs: Logs
    #: Where a method keeps its network.
    networks: Path
    #: In a worker on a cluster: weights that need not be read from files.
    carried: Mapping[str, np.ndarray]

    @property
    def latency_model(self) -> LatencyModel | None:
        """What predicts latencies in the search, where it goes by them. It is fitted after the method's stages."""

    def done(self, stage: str) -> bool:
        """Whether a stage has ended well."""

    def note(self, text: str) -> None:
        """Tell the user something that the report shall say, too."""

    def keep_curve(self, name: str, rows: Sequence[dict[str, float]]) -> None:
        """Keep the losses of a training."""


class Method(ABC):
    """One way to prune, for one run."""

    #: The stage after which the network and its tokenizer lie in `networks`. Where it is none of the method's own, the run adds
    #: one of this name that saves what `network` gives.
    keeps: ClassVar[str] = "network"
    #: The spaces it can prune in, the usual one first.
    spaces: ClassVar[tuple[str, ...]] = ("small", "medium", "layer", "sublayer", "large")
    #: Whether it tries a list of its own (`candidates`), so that there is nothing for a searcher to choose.
    lists: ClassVar[bool] = False
    #: Whether a trial has weights of its own, in `networks`/`TRIALS`/key; else it is a slice of the network.
    own: ClassVar[bool] = False
    #: Whether trials are trainings that can stop early: what `mo-asha` and its like need.
    budgets: ClassVar[bool] = False
    #: Which of `SOME` it uses; and `candidates`, where it does so before polishing.
    uses: ClassVar[tuple[str, ...]] = ()

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    @abstractmethod
    def network(self) -> Supernet:
        """The network as the last finished stage left it."""

    @abstractmethod
    def stages(self) -> list[Step]:
        """What comes before the search, in order."""

    def trainings(self) -> dict[str, Callable[[], Rows]]:
        """Stage → the training in it, where that is of one network from its beginning to its end: the processes of a launch can
        do it together. It returns the log rows, and leaves what it trained in the bench's network."""
        return {}

    def last_stages(self) -> list[Step]:
        """What comes after these, and after the latency model is fitted where there is one."""
        return []

    def save(self, folder: Path) -> None:
        """Write the network and its tokenizer."""
        self.bench.supernet.model.save_pretrained(folder)
        self.bench.data.tokenizer.save_pretrained(folder)

    @abstractmethod
    def estimators(self) -> list[Estimator]:
        """How the search scores a candidate's error."""

    def reads(self) -> list[Path]:
        """The checkpoint folders whose weights a worker of the search reads: they are sent with its recipe."""
        return [self.bench.networks]

    def candidates(self) -> Sequence[Architecture]:
        """What is tried, in order, where the method `lists`."""
        raise NotImplementedError

    def teachers(self) -> list[Any]:
        """Networks that a polished one may learn from: the best on validation data teaches."""
        return [self.bench.supernet.model]

    def ended(self, study: Any, left: int) -> None:  # noqa: B027 - where weights are shared there is nothing to do
        """Hook: a trial of the study has ended, at most `left` more will follow."""

    def passes(self) -> dict[str, float]:
        """Stage → about how many examples it passes forward through the whole network, for the time left. A backward pass
        counts as two; a stage that is not named is unknown."""
        return {}

    def tidy(self) -> None:  # noqa: B027 - not every method leaves something behind
        """Remove what only an unfinished run needs."""
