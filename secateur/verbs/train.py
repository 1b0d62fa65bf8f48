"""`secateur train`: an architecture of a design run, trained from scratch on a text, as a folder that loads."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from secateur.architecture import Architecture, digest
from secateur.errors import ConfigurationError, EvaluationFailure, Stopped, StudyError
from secateur.runs.progress import Progress
from secateur.training.settings import TrainingSettings

if TYPE_CHECKING:
    from secateur.tasks.text import Text
    from secateur.training.text_trainer import CurvePoint

#: Where an unfinished training keeps what it needs to go on; gone when the folder is finished.
UNFINISHED = "training"
CURVE = "curve.json"


@dataclass(frozen=True)
class Trained:
    """A finished training. Perplexities are per token; `differences` are the largest of the logits, by form."""

    folder: Path
    architecture: Architecture
    parameters: int
    steps: int
    seconds: float
    perplexity: float
    test_perplexity: float | None
    curve: tuple[CurvePoint, ...]
    differences: dict[str, float]

    def __str__(self) -> str:
        test = "" if self.test_perplexity is None else f", test {self.test_perplexity:.2f}"
        lines = [
            f"{self.folder}: {self.parameters:,} parameters, {self.steps:,} steps in {self.seconds:.0f} s",
            f"  perplexity  validation {self.perplexity:.2f}{test}",
        ]
        lines += [f"  largest difference, {name}: {value:.1e}" for name, value in self.differences.items()]
        return "\n".join(lines)


def train(
    run: Annotated[Path, typer.Argument(help="The folder of a run of `secateur design`.")],
    *,
    text: Annotated[Path, typer.Option(help="A text file (also .gz), or a folder with train, valid and test text files.")],
    to: Annotated[Path, typer.Option(help="The folder to write; an unfinished training there goes on.")],
    pick: Annotated[str | None, typer.Option(help="The architecture with this key, or its beginning.")] = None,
    under: Annotated[
        list[str] | None, typer.Option(help="The best within a bound: latency=200ms. Give it several times for several.")
    ] = None,
    tokenizer: Annotated[
        str | None,
        typer.Option(help="Folder or hub name of a tokenizer; by default one is trained on the text.", show_default=False),
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Training steps; by default as `epochs` says.", show_default=False)] = None,
    epochs: Annotated[float, typer.Option(help="How often the text is read.")] = 1.0,
    batch_size: Annotated[int, typer.Option(help="Segments per step.")] = 16,
    length: Annotated[int, typer.Option(help="Tokens per segment; a shorter one where the network has fewer positions.")] = 192,
    learning_rate: Annotated[float, typer.Option(help="Its highest value: it rises, then falls along a cosine.")] = 1e-3,
    warmup: Annotated[float, typer.Option(help="Share of the steps in which it rises.")] = 0.03,
    weight_decay: Annotated[float, typer.Option(help="Weight decay of AdamW.")] = 0.1,
    dropout: Annotated[float, typer.Option(help="Dropout while training.")] = 0.0,
    evaluations: Annotated[int, typer.Option(help="Points of the learning curve.")] = 20,
    checkpoints: Annotated[int, typer.Option(help="How often the training is saved, to go on after a crash.")] = 10,
    mixed_precision: Annotated[str | None, typer.Option(help="bf16 or fp16, on a GPU.", show_default=False)] = None,
    onnx: Annotated[bool, typer.Option("--onnx", help="Write model.onnx as well.")] = False,
    int8: Annotated[bool, typer.Option("--int8", help="Write model.int8.onnx as well.")] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:N, or auto for a GPU where there is one.")] = "auto",
    seed: Annotated[int, typer.Option(help="Seed of weights, order and dropout.")] = 0,
    progress: Annotated[bool, typer.Option("--progress/--quiet", help="Show progress.")] = True,
) -> Trained:
    """Train an architecture that `secateur design` found, on your text. Started again, it goes on exactly where it was.

    Raises ConfigurationError, DataError, StudyError, or Stopped on Ctrl-C, when what was done is saved.
    """
    if (pick is None) == (not under):
        raise ConfigurationError("say which architecture to train: either --under latency=200ms or --pick …")
    from secateur.runs.folder import parse_under
    from secateur.runs.opening import open_run

    opened = open_run(run)
    if opened.configuration.verb != "design":
        raise StudyError(f"`{run}` is no run of `secateur design`: its networks are trained already. See secateur export.")
    member = opened.member(pick) if pick is not None else opened.front.best(under=parse_under(under))
    c = opened.configuration
    return train_architecture(
        member.architecture,
        text=text,
        to=to,
        tokenizer=tokenizer,
        vocabulary=c.vocabulary,
        cutoffs=c.cutoffs_parsed(),
        positions=c.positions,
        memory=c.memory,
        steps=steps,
        epochs=epochs,
        batch_size=batch_size,
        length=length,
        learning_rate=learning_rate,
        warmup=warmup,
        weight_decay=weight_decay,
        dropout=dropout,
        evaluations=evaluations,
        checkpoints=checkpoints,
        mixed_precision=mixed_precision,
        onnx=onnx,
        int8=int8,
        device=device,
        seed=seed,
        progress=progress,
    )


def train_architecture(
    architecture: Architecture,
    *,
    text: str | Path,
    to: str | Path,
    tokenizer: str | Path | None = None,
    vocabulary: int,
    cutoffs: Sequence[int] | None = None,
    positions: int = 1024,
    memory: int = 0,
    steps: int | None = None,
    epochs: float = 1.0,
    batch_size: int = 16,
    length: int = 192,
    learning_rate: float = 1e-3,
    warmup: float = 0.03,
    weight_decay: float = 0.1,
    dropout: float = 0.0,
    evaluations: int = 20,
    checkpoints: int = 10,
    mixed_precision: str | None = None,
    onnx: bool = False,
    int8: bool = False,
    device: str = "auto",
    seed: int = 0,
    progress: bool = False,
) -> Trained:
    """Train one architecture of the space `decoder` on a text; `to` gets checkpoint, tokenizer, curve and card."""
    settings = TrainingSettings(
        epochs=epochs,
        steps=steps,
        learning_rate=learning_rate,
        batch_size=batch_size,
        warmup=warmup,
        schedule="cosine",
        weight_decay=weight_decay,
        mixed_precision=mixed_precision,
        group_by_length=False,
        checkpoints=checkpoints,
        seed=seed,
    )
    faults = settings.faults()
    faults += [f"`dropout` must be at least 0 and below 1, got {dropout}."] * (not 0 <= dropout < 1)
    least = {"length": (length, 2), "evaluations": (evaluations, 1)}
    faults += [f"`{name}` must be at least {low}, got {value}." for name, (value, low) in least.items() if value < low]
    if faults:
        raise ConfigurationError(faults)
    if onnx or int8:
        from secateur.export.onnx import need

        need("onnx", "onnxscript", "onnxruntime")
    from secateur.checkpoints.quiet import quiet
    from secateur.decoders import build
    from secateur.devices.device import resolve_device
    from secateur.export.trained import save_trained
    from secateur.tasks.text import encode, load_text
    from secateur.training.text_trainer import evaluate_text, train_text

    where = resolve_device(device)
    if mixed_precision is not None and where.type == "cpu":
        raise ConfigurationError(f"`mixed_precision` {mixed_precision} is for a GPU, and `device` is cpu. Leave it out.")
    said = load_text(text)
    folder = Path(to)
    if architecture["backbone"] == "gpt2":
        length = min(length, positions)
    started = {
        "architecture": architecture.to_json(),
        "text": digest(said.train, said.validation, said.test or ""),
        "tokenizer": None if tokenizer is None else str(tokenizer),
        "vocabulary": vocabulary,
        "cutoffs": None if cutoffs is None else list(cutoffs),
        "positions": positions,
        "memory": memory,
        "length": length,
        "dropout": dropout,
        "evaluations": evaluations,
        **asdict(settings),
    }
    started = json.loads(json.dumps(started))  # as it is read again
    # Whatever can be refused comes before anything is written: another try may name the same folder with other settings.
    _check_folder(folder, started)
    bars = Progress(progress)
    words, new = _tokenizer(tokenizer, said, vocabulary, folder)
    if tokenizer is None and len(words) < vocabulary:
        bars.say(f"The text gives {len(words):,} tokens, fewer than the network's vocabulary of {vocabulary:,}.")
    tokens = encode(said, words, length=length)
    model = build(
        architecture,
        vocabulary=vocabulary,
        cutoffs=cutoffs,
        positions=positions,
        memory=memory,
        dropout=dropout,
        seed=seed,
        bos_token_id=words.bos_token_id,
        eos_token_id=words.eos_token_id,
    )
    _begin(folder, started, words if new else None)
    again = f"Go on with the same command: the training in `{folder}` continues where it was."
    try:
        with bars.bar("training") as advance, quiet():
            result = train_text(
                model,
                tokens.train,
                tokens.validation,
                settings,
                folder / UNFINISHED / "steps",
                length=length,
                evaluations=evaluations,
                device=str(where),
                progress=advance,
            )
    except Stopped as stop:
        raise Stopped(f"{stop} {again}") from None
    except KeyboardInterrupt:
        raise Stopped(f"stopped. {again}") from None
    except EvaluationFailure as failure:
        raise StudyError(f"{failure} Start again in a new folder.") from failure
    test = None if tokens.test is None else evaluate_text(model, tokens.test, length=length, batch=batch_size)
    model.to("cpu")
    differences = save_trained(model, words, folder, onnx=onnx, int8=int8)
    trained = Trained(
        folder,
        architecture,
        sum(p.numel() for p in model.parameters()),
        result.steps,
        result.seconds,
        result.perplexity,
        None if test is None else test.perplexity,
        result.curve,
        differences,
    )
    _describe(trained, str(text), started)
    shutil.rmtree(folder / UNFINISHED)  # last: as long as it is there, the folder is unfinished and can be written again
    return trained


def _check_folder(folder: Path, started: dict[str, Any]) -> None:
    """Make sure that the folder is free, or holds an unfinished training with the same settings. Writes nothing."""
    file = folder / UNFINISHED / "settings.json"
    if file.is_file():
        before = json.loads(file.read_text(encoding="utf-8"))
        other = sorted(name for name in started.keys() | before.keys() if started.get(name) != before.get(name))
        if other:
            raise StudyError(
                f"`{folder}` holds an unfinished training with other settings ({', '.join(other)}). "
                "Give the same ones to go on with it, or name another folder."
            )
    elif folder.exists() and (not folder.is_dir() or not _free(folder)):
        from secateur.export.trained import is_trained

        forms = f" For the ONNX forms of what it holds: secateur export {folder} --onnx --int8." if is_trained(folder) else ""
        raise StudyError(f"`{folder}` exists already and holds no unfinished training. Name another folder.{forms}")


def _free(folder: Path) -> bool:
    """Whether the folder holds nothing, or only what was written before the settings when the process was killed."""
    inside = {path.name for path in folder.iterdir()}
    begun = folder / UNFINISHED
    return not inside or (inside == {UNFINISHED} and {path.name for path in begun.iterdir()} <= {"tokenizer", "settings.new"})


def _begin(folder: Path, started: dict[str, Any], tokenizer: Any | None) -> None:
    """Make the folder, and keep in it the tokenizer that was trained and, last, the settings: they make it a training."""
    begun = folder / UNFINISHED
    try:
        begun.mkdir(parents=True, exist_ok=True)
        if tokenizer is not None:
            tokenizer.save_pretrained(begun / "tokenizer")
        (begun / "settings.new").write_text(json.dumps(started, indent=1), encoding="utf-8")
        (begun / "settings.new").replace(begun / "settings.json")
    except OSError as error:
        raise StudyError(f"`{folder}` cannot be written: {error.strerror or error}.") from error


def _tokenizer(given: str | Path | None, text: Text, vocabulary: int, folder: Path) -> tuple[Any, bool]:
    """The tokenizer given, or the one that an unfinished training kept, or a new one trained on the text; is it new?"""
    from secateur.tasks.tokenizers import check_fits, load_tokenizer, train_tokenizer

    kept = folder / UNFINISHED / "tokenizer"
    if given is None and not (kept.is_dir() and (folder / UNFINISHED / "settings.json").is_file()):
        return train_tokenizer(text.train, vocabulary), True
    words = load_tokenizer(kept if given is None else given)
    check_fits(words, vocabulary)
    return words, False


def _describe(trained: Trained, text: str, started: dict[str, Any]) -> None:
    from secateur.export.trained_card import trained_card
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
    curve = {**facts, "architecture": trained.architecture.as_dict(), "settings": started, "curve": rows}
    (trained.folder / CURVE).write_text(json.dumps(curve, indent=1) + "\n", encoding="utf-8")
    shown = ("batch_size", "length", "learning_rate", "warmup", "schedule", "weight_decay", "dropout", "vocabulary", "seed")
    card = {**facts, "name": trained.folder.name, "text": Path(text).name, "settings": {name: started[name] for name in shown}}
    (trained.folder / "README.md").write_text(trained_card(card), encoding="utf-8")
