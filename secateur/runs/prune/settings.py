"""The settings of `secateur prune`: written once, for the verb, the config file and the checks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from secateur import catalogue
from secateur.catalogue import explained
from secateur.checkpoints.pretrained import check_model, is_for_images
from secateur.devices.setup import Setup
from secateur.errors import ConfigurationError, DataError
from secateur.methods.drops import DROPS
from secateur.methods.learned_masks.ways import SCHEDULE
from secateur.methods.learned_masks.ways import WAYS as MASK_BUDGETS
from secateur.objectives import PERPLEXITY, Bound, Objective, bound_on, serving
from secateur.paths import checked
from secateur.runs.prune.data_settings import ABOUT_TEXTS, DataSettings
from secateur.runs.prune.large_settings import LargeModelSettings
from secateur.runs.prune.method_checks import changed, method_faults, unused
from secateur.runs.prune.objective_checks import LANGUAGE, objective_faults
from secateur.runs.prune.presets import DEMO, KLEIN2024
from secateur.runs.prune.trainings import Trainings
from secateur.runs.settings import Faults
from secateur.search.best_first import ORDERS
from secateur.search.stopping import Stopping
from secateur.settings import DAY, MOST_BATCH, MOST_TRIALS, option, shared
from secateur.spaces.domains import Range
from secateur.tasks import TaskData, check_data, load_image_task, load_task
from secateur.tasks.image_files import is_album
from secateur.tasks.image_processor import ImageProcessor
from secateur.tasks.task import IMAGES
from secateur.training.logs import LogSettings
from secateur.training.settings import TrainingSettings, usual_learning_rate

_SPACE, _TRAIN, _SEARCH, _POLISH, _MEASURE = (
    "The space",
    "Training the super-network",
    "The search",
    "Polishing",
    "Measuring",
)
#: In polishing one of so many contenders goes on. Each has this part of all epochs.
ETA = 4
#: Steps from which on polishing does better at a lower learning rate: recipes/prune-methods.
LONG_POLISHING = 1_000


def usual_searcher(space: str) -> str:
    """Local search where one number changes much (`small`), random search where local search would stay near its start."""
    return "local" if space == "small" else "random"


def _absolute(name: str) -> str:
    """The whole path of what is there, since a run can be resumed from anywhere; a name that no file can have is left to the
    checks."""
    with suppress(ConfigurationError):
        path = checked(name, ConfigurationError)
        return str(path.resolve()) if path.exists() else name
    return name


@dataclass(frozen=True, kw_only=True)
class PruneSettings(Trainings, DataSettings, LargeModelSettings):
    """The defaults are what worked best in our measurements: recipes/prune-minilm has the tables."""

    verb: ClassVar[str] = "prune"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"default": {}, "klein2024": KLEIN2024, "demo": DEMO}

    model: str = option(about="A folder with a pre-trained Transformer, or a name on the hub.", positional=True)
    data: str = option(
        about="A CSV, TSV, JSON Lines, Parquet or text file, a folder of such files, or a task by name (glue/rte); for a model "
        "that reads images, a folder with a sub-folder of them per class, or an .npz file.",
        positional=True,
    )
    preset: str = option(
        "default", "Where the values you do not give come from: default, klein2024 (the paper's setup) or demo."
    )
    text: list[str] | None = option(None, "Column with the text; give it twice for pairs.")
    label: str | None = option(None, "Column with the label.")
    space: str | None = option(
        None, f"{explained('space', 'prune')}; by default small, or what the method prunes in where that is another."
    )
    heads: str | None = option(None, "Range of heads per layer: 4..12, 4..12:2 (steps of 2).", panel=_SPACE)
    units: str | None = option(None, "Range of units per layer: 256..1536:64, :64.", panel=_SPACE)
    layers: str | None = option(None, "Range of layers: 2..6.", panel=_SPACE)
    method: str = option("weight-sharing", f"The pruning method: {explained('method', 'prune')}.", panel=_SEARCH)
    objectives: list[str] = option(
        ["error", "body_parameters"],
        f"One of {', '.join(serving('prune'))}, optionally with a bound: 'latency<=20ms', 'parameters<=50%'. Repeat it for "
        "several; error (or perplexity) comes first. body_parameters counts the layers, without embeddings and "
        "head.",
        flag="--objective",
    )
    searcher: str | None = option(
        None, f"{explained('searcher', 'prune')}; by default local in small, otherwise random.", panel=_SEARCH
    )
    trials: int = option(
        100,
        "How many architectures the searcher may try; without limit where you give --seconds instead.",
        least=1,
        most=MOST_TRIALS,
    )
    seconds: float | None = option(
        None,
        "End the search so many seconds after the run began, all stages before it counted; polishing comes after it.",
        panel=_SEARCH,
        above=0,
        most=100 * DAY,
    )
    aimed: float = option(
        0.5,
        "Share of the trials that are aimed at the sizes of --polish-at, whatever the searcher would try.",
        panel=_SEARCH,
        least=0,
        most=1,
    )
    trial_epochs: float = shared(
        TrainingSettings, "epochs", 5.0, about="Epochs of a candidate, where the method trains each by itself.", panel=_SEARCH
    )
    r_min: float = shared(
        TrainingSettings,
        "epochs",
        1.0,
        about="Epochs after which mo-asha and its like first stop candidates.",
        panel=_SEARCH,
        flag="--r-min",
    )
    eta: int = option(3, "One of so many candidates goes on from one rung to the next.", panel=_SEARCH, least=2, most=100)
    stop_early: str | None = option(
        None,
        f"Stop candidates early whose training promises little: {explained('extrapolator')} tells the end of a training after "
        "a fifth of it, and it goes on where that is in the better half of those that ended. svr:0.3/0.25: after 30 %, in the "
        "best quarter. Each part of a training counts as a trial.",
        panel=_SEARCH,
    )
    rung_order: str = option(
        "told",
        "Which of equally good candidates go on from a rung: those told first, or those that cover the front (epsilon-net).",
        panel=_SEARCH,
        known=ORDERS,
    )
    mask_epochs: float = shared(
        TrainingSettings, "epochs", 8.0, about="Epochs in which learned-masks goes down through all sizes.", panel=_SEARCH
    )
    mask_budget: str = option(
        SCHEDULE,
        "How learned-masks keeps to a size: by a threshold that follows it (schedule), or by a price on what is above it.",
        panel=_SEARCH,
        known=MASK_BUDGETS,
    )
    mask_learning_rate: float | None = option(
        None,
        "Learning rate of masks, whose scores begin between 0 and 1. By default such that one can go 1.5 in all steps.",
        panel=_SEARCH,
        above=0,
        most=10,
    )
    mask_weights: bool = option(True, "Train weights with the masks; as published they wait until after.", panel=_SEARCH)
    zoo_batches: int = option(20, "Batches that block-zoo distils a layer on.", panel=_SEARCH, least=1, most=10_000)
    drop: str = option("top", "Which layers layer-drop drops first.", panel=_SEARCH, known=DROPS)
    candidates: int = option(
        4,
        "Shapes that are tried for each size of --polish-at: by one-shot, and when polishing begins.",
        panel=_POLISH,
        least=1,
        most=100,
    )
    masks: bool = option(
        True,
        "Let networks whose layers differ join those that begin: the heads and units of most Fisher information. Not where "
        "you give ranges of heads, units or layers.",
        panel=_POLISH,
    )
    depths: bool = option(True, "In small, also score the shallower networks that each pass contains.", panel=_SEARCH)
    strategy: str = option("full", f"{explained('strategy', 'prune')}.", panel=_TRAIN)
    epochs: float = shared(
        TrainingSettings,
        "epochs",
        8.0,
        about="Epochs of training: of the super-network, in other methods of the unpruned network.",
    )
    learning_rate: float | None = shared(
        TrainingSettings,
        "learning_rate",
        None,
        about="The highest learning rate; by default 1e-4 in a run of fewer than 2,500 steps, otherwise 5e-5.",
        panel=_TRAIN,
    )
    learning_rate_warmup: float = shared(TrainingSettings, "learning_rate_warmup", 0.06, panel=_TRAIN)
    weight_decay: float = shared(TrainingSettings, "weight_decay", 0.01, panel=_TRAIN)
    max_grad_norm: float = shared(TrainingSettings, "max_grad_norm", 1.0, panel=_TRAIN)
    batch_size: int = shared(TrainingSettings, "batch_size", 32, panel=_TRAIN)
    k: int = option(2, "Random sub-networks per step.", panel=_TRAIN, least=0, most=1_000, flag="--k")
    temperature: float = shared(TrainingSettings, "temperature", 2.0, panel=_TRAIN)
    squared_temperature: bool = shared(TrainingSettings, "squared_temperature", True, panel=_TRAIN)
    distillation: str = shared(TrainingSettings, "distillation", panel=_TRAIN)
    distillation_weight: float = shared(TrainingSettings, "distillation_weight", 1.0, panel=_TRAIN)
    label_weight: float = shared(TrainingSettings, "label_weight", panel=_TRAIN)
    group_by_length: bool = shared(TrainingSettings, "group_by_length", True, panel=_TRAIN, flag="--group-by-length/--shuffle")
    order: bool = option(True, "Sort heads and units by importance first.", panel=_TRAIN)
    order_epochs: float = shared(
        TrainingSettings, "epochs", 1.0, about="Epochs of fine-tuning before importance is computed.", panel=_TRAIN
    )
    order_learning_rate: float = shared(
        TrainingSettings,
        "learning_rate",
        5e-5,
        about="Learning rate of these, and of the unpruned network in other methods.",
        panel=_TRAIN,
    )
    polish: bool = option(True, "Polish the best sub-networks: fine-tune them further after the search.", panel=_POLISH)
    polish_at: list[str] = option(
        ["10%", "20%", "30%", "50%", "70%"],
        "Polish the best sub-network with at most this share (or number) of the parameters in the body (the Transformer "
        "layers without embeddings and head); repeat it for several.",
        panel=_POLISH,
    )
    polish_epochs: float = shared(TrainingSettings, "epochs", 4.0, about="Epochs of polishing.", panel=_POLISH)
    variants: int = option(
        0,
        "Also polish on so many variants of each text, told by the teacher, where the smallest size gains by it; takes longer.",
        panel=_POLISH,
        least=0,
        most=100,
    )
    polish_learning_rate: float | None = shared(
        TrainingSettings,
        "learning_rate",
        None,
        about="Learning rate of these; by default 2e-4 in fewer than 1,000 steps, otherwise 1e-4.",
        panel=_POLISH,
    )
    polish_zoo: int = option(
        0, "First distil each layer by itself on so many batches, as block-zoo does.", panel=_POLISH, least=0, most=10_000
    )
    evaluation_batch: int = option(64, "Examples per batch when scoring.", panel=_MEASURE, least=1, most=MOST_BATCH)
    measure: bool = option(True, "Measure latency and memory of what was found, on this machine.", panel=_MEASURE)
    latency_batch: int = shared(Setup, "batch", about="Sequences per measured pass.", panel=_MEASURE)
    latency_length: int = shared(
        Setup, "length", 128, about="Tokens per measured sequence; at most what the model accepts.", panel=_MEASURE
    )
    threads: int = shared(Setup, "threads", about="CPU threads of a measured pass.", panel=_MEASURE)
    formats: bool = option(
        True,
        "After the search, compare the unpruned network and those that the report names as PyTorch, ONNX, int8 and int4.",
        panel=_MEASURE,
    )
    fit_seconds: float = option(
        45.0,
        "Seconds to measure for the latency model, roughly, if latency is an objective.",
        panel=_MEASURE,
        above=0,
        most=DAY,
    )
    log_to: list[str] = shared(LogSettings, "log_to", panel=_TRAIN)

    @classmethod
    def _plain(cls, values: dict[str, Any]) -> dict[str, Any]:
        out = dict(values)
        for name in ("model", "data"):
            out[name] = _absolute(str(out[name]))
        given = out.get("objectives", [])
        several = given if isinstance(given, list | tuple) else [given]
        largest = [o.name for o in several if isinstance(o, Objective) and o.direction == "max"]
        if largest:
            raise ConfigurationError(f"`{largest[0]}` cannot be maximised: error and costs are better when smaller.")
        for name in ("text", "objectives", "polish_at", "log_to"):
            if out.get(name) is not None:
                value = out[name]
                out[name] = [str(v) for v in value] if isinstance(value, list | tuple) else [str(value)]
        if any(text.strip().startswith(PERPLEXITY) for text in out.get("objectives", [])) and out.get("kind") is None:
            out["kind"] = LANGUAGE  # nothing else has one
        preset = cls.presets[out.get("preset", "default")]
        if "seconds" in out and out.get("trials") == preset.get("trials"):
            out["trials"] = MOST_TRIALS
        method = out.get("method", cls.method)
        if method != cls.method and method in catalogue.names("method", cls.verb):
            kind = catalogue.find("method", method)
            out.setdefault("space", kind.spaces[0])
            if kind.lists:
                if out.get("searcher") == preset.get("searcher"):
                    out.pop("searcher", None)
                return out
        out.setdefault("space", "small")
        out.setdefault("searcher", usual_searcher(out["space"]))
        return out

    def contradictions(self) -> list[str]:
        found = Faults(self.disagreements())
        found.tried(check_model, self.model, self.kind)
        metric = self.metric if self.sound("metric") else None
        kind = IMAGES if self.kind is None and self.on_images() else self.kind
        if kind == IMAGES:
            found += [f"`{name}` cannot be set: it is for texts, and these are images." for name in changed(self, ABOUT_TEXTS)]
        return [*found, *check_data(self.data, self.text, self.label, kind, metric)]

    def on_images(self) -> bool:
        """Whether the model reads images, as far as that can be told before it is loaded: of one on the hub, by the data."""
        known = is_for_images(self.model)
        with suppress(ConfigurationError, DataError):
            return is_album(self.data) if known is None else known
        return False

    def choice_faults(self) -> list[str]:
        """All that is wrong with these settings whatever the model and the data are."""
        return list(dict.fromkeys([*self.field_faults(), *([] if self.type_faults() else self.disagreements())]))

    def disagreements(self) -> list[str]:
        """What is wrong beyond each field's own rules, whatever the model and the data are."""
        found = Faults(super().contradictions())
        tried = found.tried
        for kind in ("space", "strategy", "method"):
            tried(catalogue.check, kind, str(getattr(self, kind)), self.verb)
        if self.stop_early is not None:
            tried(Stopping.parse, self.stop_early)
        if self.searcher is not None:
            tried(catalogue.check_searcher, str(self.searcher), self.verb)
            tried(self.check_sizes, str(self.searcher))
        usual = self.method == type(self).method and not catalogue.with_budgets(self.searcher) and self.stop_early is None
        if (
            not usual
            and self.method in catalogue.names("method", self.verb)
            and self.sound("r_min", "trial_epochs", "eta", "trials")
        ):
            found += method_faults(self)
        if self.method in catalogue.names("method", self.verb) and self.strategy in catalogue.names("strategy", self.verb):
            found += [f"`{name}` cannot be set: {why}." for name, why in self.unused().items() if self.sound(name)]
        found += objective_faults(self.objectives, self.kind)
        if self.distillation == "authors" and not self.squared_temperature:
            found.append("`squared_temperature` cannot be off where `distillation` is authors: their code multiplies by T².")
        if self.distillation == "authors" and self.strategy == "kd" and self.k == 0:
            found.append("`k` must be at least 1 where `kd` distils as the authors do: nothing else is trained, got 0.")
        for text in self.polish_at:
            tried(bound_on, "body_parameters", text, f"polish_at={text}")
        # The ends of ranges are checked against the model later.
        for name, most in (("heads", 10**6), ("units", 10**9), ("layers", 10**6)):
            if getattr(self, name) is not None:
                tried(Range.parse, getattr(self, name), name, most)
        return found

    @classmethod
    def effective(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """What is given, without settings that have no effect on the run: for whoever gives several methods the same."""
        idle = cls.made(given).unused()
        return {name: value for name, value in given.items() if name not in idle}

    def unused(self) -> dict[str, str]:
        """Setting → why it cannot have an effect. Raises UnknownNameError for an unknown method or strategy."""
        return unused(self)

    def with_usual_learning_rates(self, examples: int) -> Self:
        """A copy in which learning rates that nobody gave are set by the length of the training."""
        found: dict[str, Any] = {}
        uses = catalogue.find("method", self.method).uses
        if self.learning_rate is None and "learning_rate" in uses:
            epochs = self.mask_epochs if "mask_epochs" in uses else self.epochs
            found["learning_rate"] = usual_learning_rate(examples, self.batch_size, epochs)
        if self.polish and self.polish_learning_rate is None:
            steps = self.polishing().total_steps(math.ceil(examples / self.batch_size))
            found["polish_learning_rate"] = 2e-4 if steps < LONG_POLISHING else 1e-4
        return replace(self, **found)

    def task_data(self, tokenizer: Any) -> TaskData:
        """The run's data, split and tokenised, or images as their processor makes them, which `tokenizer` then is: the same
        each time, unless they have changed."""
        always = ("metric", "seed", "validation_share", "test_share", "max_train", "max_validation", "max_test")
        given: dict[str, Any] = {name: getattr(self, name) for name in always}
        if isinstance(tokenizer, ImageProcessor):
            return load_image_task(self.data, tokenizer, **given)
        texts = {name: getattr(self, name) for name in ("text", "label", "kind", "max_length", "separator")}
        return load_task(self.data, tokenizer, **given, **texts)

    def levels(self) -> list[Bound]:
        """The shares of the body's parameters at which a sub-network is chosen to be polished."""
        return [Bound.parse(b) for b in self.polish_at]

    def limits(self) -> dict[str, str]:
        """The ranges given for the space's dimensions."""
        return {name: getattr(self, name) for name in ("heads", "units", "layers") if getattr(self, name) is not None}
