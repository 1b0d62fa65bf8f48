"""`secateur train`: an architecture of a design run, trained from scratch on a text, as a folder that loads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from secateur.errors import StudyError
from secateur.runs.design.run import DesignRun
from secateur.runs.design.training import Trained
from secateur.runs.folder import open_run


def train(
    run: Annotated[Path, typer.Argument(help="The folder of a run of `secateur design`.")],
    *,
    text: Annotated[Path, typer.Option(help="A text file (also .gz), or a folder with train, valid and test text files.")],
    to: Annotated[Path, typer.Option(help="The folder to write; an unfinished training there goes on.")],
    key: Annotated[str | None, typer.Option(help="The architecture with this key, or its beginning.")] = None,
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
    learning_rate_warmup: Annotated[float, typer.Option(help="Share of the steps in which the learning rate rises.")] = 0.03,
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
    given = {name: value for name, value in locals().items() if name not in ("run", "key", "under")}
    opened = open_run(run)
    if not isinstance(opened, DesignRun):
        raise StudyError(f"`{run}` is no run of `secateur design`: its networks are trained already. See secateur export.")
    trained: Trained = opened.choose(key, under, "train", "latency=200ms").train(**given)
    return trained
