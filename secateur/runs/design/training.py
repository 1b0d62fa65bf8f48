"""An architecture of a design run, trained from scratch on a text, as a folder that loads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from secateur.architecture import Architecture
from secateur.errors import EvaluationFailure, SecateurError, Stopped, StudyError, disk_fault, disk_is_full, one_line
from secateur.paths import checked, quoted, reason
from secateur.runs.design.forms import CURVE, judging, text_digest
from secateur.runs.progress import Progress
from secateur.settings import MOST_TOKENS, Settings, option, shared
from secateur.spaces.decoder_sizes import Sizes
from secateur.study import RunLock
from secateur.training.logs import Logs, LogSettings
from secateur.training.settings import TrainingSettings
from secateur.writing import aside, clean, is_aside, remove, write_whole

if TYPE_CHECKING:
    from secateur.export.scored import Forms
    from secateur.tasks.text import Text, TextTokens
    from secateur.training.text_trainer import CurvePoint, TextResult

#: Where an unfinished training keeps what it needs to go on; gone when the folder is finished.
UNFINISHED = "training"
_TRAINING = "The training"
#: What the card says of the settings.
_SHOWN = (
    "batch_size",
    "length",
    "learning_rate",
    "learning_rate_warmup",
    "schedule",
    "weight_decay",
    "dropout",
    "vocabulary",
    "seed",
)
#: Names that unfinished trainings of earlier versions have in their settings → today's.
_RENAMED = {"warmup": "learning_rate_warmup", "memory": "recurrence"}


@dataclass(frozen=True, kw_only=True)
class TrainSettings(Settings):
    """The settings of `secateur train`."""

    text: Path = option(about="A text file (optionally .gz), or a folder with train, valid and test text files.")
    to: Path = option(about="The folder to write; an unfinished training in it is continued.")
    tokenizer: str | None = option(None, "Folder or hub name of a tokenizer; by default one is trained on the text.")
    steps: int | None = shared(TrainingSettings, "steps")
    epochs: float = shared(TrainingSettings, "epochs", 1.0, about="How many times the text is read.")
    batch_size: int = shared(TrainingSettings, "batch_size", 16, about="Segments per step.", panel=_TRAINING)
    length: int = option(
        192,
        "Tokens per segment; fewer if the network has fewer positions.",
        least=2,
        most=MOST_TOKENS,
        panel=_TRAINING,
    )
    learning_rate: float = shared(
        TrainingSettings,
        "learning_rate",
        1e-3,
        about="Its highest value: it rises, then falls along a cosine.",
        panel=_TRAINING,
    )
    learning_rate_warmup: float = shared(TrainingSettings, "learning_rate_warmup", 0.03, panel=_TRAINING)
    weight_decay: float = shared(TrainingSettings, "weight_decay", 0.1, panel=_TRAINING)
    dropout: float = option(0.0, "Dropout while training.", least=0, below=1, panel=_TRAINING)
    evaluations: int = option(20, "Points of the learning curve.", least=1, most=10_000, panel=_TRAINING)
    checkpoints: int = shared(TrainingSettings, "checkpoints", 10, panel=_TRAINING)
    mixed_precision: str | None = shared(TrainingSettings, "mixed_precision", panel=_TRAINING)
    onnx: bool = option(False, "Write model.onnx as well.", flag="--onnx")
    int8: bool = option(False, "Write model.int8.onnx as well.", flag="--int8")
    int4: bool = option(False, "Write model.int4.onnx as well.", flag="--int4")
    log_to: list[str] = shared(LogSettings, "log_to", panel=_TRAINING)
    candidates: int = option(
        1,
        "Begin to train so many of the best architectures within the bound, and go on with the most promising.",
        least=1,
        most=1000,
        panel=_TRAINING,
    )
    stop_early: str = option(
        "last",
        "How the most promising of --candidates is found: last or wpm, by default after a fifth of the steps; wpm:0.3 after "
        "30 %.",
        panel=_TRAINING,
    )
    device: str = option("auto", "cpu, cuda, cuda:N, or auto: a GPU if there is one.")
    seed: int = shared(TrainingSettings, "seed", about="The seed for weights, data order and dropout.", panel=_TRAINING)

    def forms(self) -> dict[str, bool]:
        """Which formats are asked for."""
        return {"onnx": self.onnx, "int8": self.int8, "int4": self.int4}

    def training(self) -> TrainingSettings:
        """How the trainer is to go about it."""
        found: TrainingSettings = self.part(TrainingSettings, schedule="cosine", group_by_length=False)
        return found


@dataclass(frozen=True)
class Trained:
    """A finished training. Perplexities are per token; `differences` are the largest of the logits, by form; `forms`
    are compared where ONNX was asked for."""

    folder: Path
    architecture: Architecture
    parameters: int
    steps: int
    seconds: float
    perplexity: float
    test_perplexity: float | None
    curve: tuple[CurvePoint, ...]
    differences: dict[str, float]
    forms: Forms | None = None

    def __str__(self) -> str:
        test = "" if self.test_perplexity is None else f", test {self.test_perplexity:.2f}"
        lines = [
            f"{self.folder}: {self.parameters:,} parameters, {self.steps:,} steps in {self.seconds:.0f} s",
            f"  perplexity  validation {self.perplexity:.2f}{test}",
        ]
        lines += [f"  largest difference, {name}: {value:.1e}" for name, value in self.differences.items()]
        lines += [] if self.forms is None else [f"  {line}" for line in str(self.forms).splitlines()]
        return "\n".join(lines)


def train_architecture(architecture: Architecture, sizes: Sizes, settings: TrainSettings, *, progress: bool = False) -> Trained:
    """Train one architecture of the space `decoder` on a text; `settings.to` gets checkpoint, tokenizer, curve and card."""
    from secateur.export.trained import save_trained
    from secateur.training.text_trainer import evaluate_text

    with _opened(architecture, sizes, settings, Progress(progress)) as job:
        settings, folder, model, tokens = job.settings, job.folder, job.model, job.tokens
        result = job.train()
        test = None
        if tokens.test is not None:
            test = evaluate_text(model, tokens.test, length=settings.length, batch=settings.batch_size).perplexity
        model.to("cpu")
        judge = judging(tokens.validation, settings.length, job.bars)
        differences, forms = save_trained(model, job.words, folder, judge=judge, **settings.forms())
        parameters = sum(p.numel() for p in model.parameters())
        found = (result.steps, result.seconds, result.perplexity, test, result.curve)
        trained = Trained(folder, architecture, parameters, *found, differences, forms)
        _describe(trained, Path(settings.text).name, job.started)
        _finish(folder)
    return trained


def begin_architecture(
    architecture: Architecture, sizes: Sizes, settings: TrainSettings, *, until: float, progress: bool = False
) -> TextResult:
    """Train one architecture for a share of its steps; `train_architecture` goes on from there, as if it had not paused."""
    with _opened(architecture, sizes, settings, Progress(progress)) as job:
        return job.train(until)


@dataclass(frozen=True)
class _Job:
    """A training that was begun: what is trained on what, and where to."""

    settings: TrainSettings
    folder: Path
    started: dict[str, Any]
    model: Any
    words: Any
    tokens: TextTokens
    device: str
    bars: Progress
    logs: Logs

    def train(self, until: float | None = None) -> TextResult:
        """Train the model in place, or go on with it; to the end, or for a share of the steps."""
        from secateur.checkpoints.quiet import quiet
        from secateur.training.text_trainer import train_text

        s, steps = self.settings, self.folder / UNFINISHED / "steps"
        options: dict[str, Any] = {"length": s.length, "evaluations": s.evaluations, "device": self.device, "logs": self.logs}
        with self.bars.bar("training") as advance, quiet():
            tokens = self.tokens
            return train_text(
                self.model, tokens.train, tokens.validation, s.training(), steps, **options, until=until, progress=advance
            )


@contextmanager
def _opened(architecture: Architecture, sizes: Sizes, settings: TrainSettings, bars: Progress) -> Iterator[_Job]:
    """The training in the folder, which is locked within the context."""
    settings.check()
    settings = replace(settings, to=checked(settings.to, StudyError))
    logs = Logs.of_run(settings.log_to, settings.to)
    if any(settings.forms().values()):
        from secateur.export.forms import need_onnx

        need_onnx()
    from secateur.decoders import build
    from secateur.devices.device import check_precision, resolve_device
    from secateur.tasks.text import encode, load_text

    where = resolve_device(settings.device)
    check_precision(settings.mixed_precision, where)
    text, folder = load_text(settings.text), Path(settings.to)
    if architecture["backbone"] == "gpt2":
        settings = replace(settings, length=min(settings.length, sizes.positions))
    started = _started(architecture, sizes, settings, text)
    # Whatever can be refused comes before anything is written: another try may name the same folder with other settings.
    _check_folder(folder, started)
    words, new = _tokenizer(settings.tokenizer, text, sizes.vocabulary, folder)
    if settings.tokenizer is None and len(words) < sizes.vocabulary:
        bars.say(f"The text yields {len(words):,} tokens, fewer than the network's vocabulary of {sizes.vocabulary:,}.")
    tokens = encode(text, words, length=settings.length)
    ends = {"bos_token_id": words.bos_token_id, "eos_token_id": words.eos_token_id}
    model = build(architecture, sizes, dropout=settings.dropout, seed=settings.seed, **ends)
    _begin(folder, started, words if new else None)
    with RunLock(folder / UNFINISHED), _to_go_on(folder):
        yield _Job(settings, folder, started, model, words, tokens, str(where), bars, logs)


@contextmanager
def _to_go_on(folder: Path) -> Iterator[None]:
    """What ends a training within the context is said in one line, with what to do then."""
    again = f"Run the same command again: the training in `{folder}` continues where it stopped."
    try:
        yield
    except Stopped as stop:
        raise Stopped(f"{stop} {again}") from None
    except KeyboardInterrupt:
        raise Stopped(f"stopped. {again}") from None
    except EvaluationFailure as failure:
        raise StudyError(f"{failure} Start again in a new folder.") from failure
    except SecateurError:
        raise
    except Exception as error:
        if fault := disk_fault(error):
            raise StudyError(f"{fault}. {again}") from error
        raise


def _started(architecture: Architecture, sizes: Sizes, settings: TrainSettings, text: Text) -> dict[str, Any]:
    """All that makes this training what it is, as it is read again from JSON."""
    said = {
        "architecture": architecture.to_json(),
        "text": text_digest(text),
        "tokenizer": None if settings.tokenizer is None else str(settings.tokenizer),
        **sizes.as_dict(),
        **{name: getattr(settings, name) for name in ("length", "dropout", "evaluations")},
        **settings.training().as_dict(),
    }
    found: dict[str, Any] = json.loads(json.dumps(said))
    return found


def _check_folder(folder: Path, started: dict[str, Any]) -> None:
    """Make sure that the folder is free, or holds an unfinished training with the same settings."""
    file = folder / UNFINISHED / "settings.json"
    if file.is_file():
        try:
            said = json.loads(file.read_text(encoding="utf-8"))
            if not isinstance(said, dict):
                raise ValueError("it contains no settings {…}")
        except (ValueError, OSError, RecursionError) as error:
            raise StudyError(f"`{file}` is damaged: {one_line(error)}. Name another folder.") from error
        before = {str(_RENAMED.get(name, name)): value for name, value in said.items()}
        other = sorted(name for name in started.keys() | before.keys() if started.get(name) != before.get(name))
        if other:
            raise StudyError(
                f"`{folder}` contains an unfinished training with other settings ({', '.join(other)}). "
                "Use the same settings to continue it, or name another folder."
            )
    elif folder.exists() and (not folder.is_dir() or not _free(folder)):
        from secateur.checkpoints.folders import is_trained

        forms = ""
        if is_trained(folder):
            clean(folder)
            forms = f" To add ONNX formats to it: secateur export {quoted(folder)} --onnx --int8."
        raise StudyError(f"`{folder}` already exists and contains no unfinished training. Name another folder.{forms}")


def _free(folder: Path) -> bool:
    """Whether the folder holds nothing, or only what was written before the settings when the process was killed."""
    begun = folder / UNFINISHED
    inside = begun.iterdir() if begun.is_dir() else ()
    ours = all(path.name in ("lock", "tokenizer") or is_aside(path) for path in inside)
    return ours and all(path == begun for path in folder.iterdir())


def _begin(folder: Path, started: dict[str, Any], tokenizer: Any | None) -> None:
    """Make the folder, and keep in it the tokenizer that was trained and, last, the settings: they make it a training.

    Raises StudyError where another process has begun one there meanwhile.
    """
    begun, new = folder / UNFINISHED, not folder.exists()
    try:
        begun.mkdir(parents=True, exist_ok=True)
        with RunLock(begun):
            _write_begun(begun, started, tokenizer)
    except Exception as error:  # the tokenizer's own kinds, too
        for made in (begun, folder) if new else (begun,):
            with suppress(OSError):
                made.rmdir()
        if isinstance(error, OSError) or disk_is_full(error):
            raise StudyError(f"`{folder}` cannot be written: {reason(error)}.") from error
        raise


def _write_begun(begun: Path, started: dict[str, Any], tokenizer: Any | None) -> None:
    """What a training needs to go on, in its locked folder; nothing where that is refused and none had begun."""
    goes_on = (begun / "settings.json").exists()
    try:
        _check_folder(begun.parent, started)
        clean(begun.parent)
        clean(begun)
        if tokenizer is not None:
            tokenizer.save_pretrained(begun / "tokenizer")
        write_whole(json.dumps(started, indent=1), begun / "settings.json")
    except Exception:
        if not goes_on:
            remove(begun)
        raise


def _finish(folder: Path) -> None:
    """Last of all, remove what an unfinished training needs: as long as it is there, the folder can be written again."""
    scratch = aside(folder / UNFINISHED)
    (folder / UNFINISHED).rename(scratch)  # at once: a half of it would be neither
    remove(scratch)


def _tokenizer(given: str | None, text: Text, vocabulary: int, folder: Path) -> tuple[Any, bool]:
    """The tokenizer given, or the one that an unfinished training kept, or a new one trained on the text; is it new?"""
    from secateur.checkpoints.tokenizers import load_tokenizer
    from secateur.tasks.tokenizers import check_fits, train_tokenizer

    kept = folder / UNFINISHED / "tokenizer"
    if given is None and not (kept.is_dir() and (folder / UNFINISHED / "settings.json").is_file()):
        return train_tokenizer(text.train, vocabulary), True
    words = load_tokenizer(kept if given is None else given)
    check_fits(words, vocabulary)
    return words, False


def _describe(trained: Trained, text: str, started: dict[str, Any]) -> None:
    """Write the learning curve and the card."""
    from secateur.export.card import trained_card
    from secateur.spaces.decoder_counts import decoder_parameters

    facts = {
        "validation": trained.perplexity,
        "test": trained.test_perplexity,
        "parameters": trained.parameters,
        "decoder_parameters": decoder_parameters(trained.architecture),
        "steps": trained.steps,
        "seconds": trained.seconds,
        "differences": trained.differences,
        "architecture": dict(trained.architecture.choices),
    }
    rows = [point.as_dict() for point in trained.curve]
    words = started["tokenizer"] and Path(started["tokenizer"])
    shown = started | {"tokenizer": words.name if words and words.is_dir() else started["tokenizer"]}  # not where it lies here
    curve = {**facts, "architecture": trained.architecture.as_dict(), "settings": shown, "curve": rows}
    write_whole(json.dumps(curve, indent=1) + "\n", trained.folder / CURVE)
    card = {
        **facts,
        "forms": trained.forms,
        "name": trained.folder.name,
        "text": text,
        "settings": {name: started[name] for name in _SHOWN},
    }
    write_whole(trained_card(card), trained.folder / "README.md")
