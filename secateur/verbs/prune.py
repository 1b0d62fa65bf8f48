"""`secateur prune`: the Pareto set of a pre-trained Transformer's sub-networks, end to end."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from secateur.runs.opening import start
from secateur.runs.progress import Progress
from secateur.runs.prune.run import Run
from secateur.runs.prune.settings import resolve

_DATA, _SPACE, _TRAIN, _SEARCH, _POLISH, _MEASURE = (
    "The data",
    "The space",
    "Training the super-network",
    "The search",
    "Polishing",
    "Measuring",
)


def prune(
    model: Annotated[str, typer.Option(help="A folder with a pre-trained Transformer, or a name on the hub.")],
    data: Annotated[
        str, typer.Option(help="A CSV, TSV, JSON-lines or Parquet file, a folder of such files, or a task by name (glue/rte).")
    ],
    *,
    to: Annotated[
        Path | None, typer.Option(help="The run's folder; by default the next free number, runs/prune-001.", show_default=False)
    ] = None,
    preset: Annotated[
        str, typer.Option(help="What is taken where you give nothing: default, klein2024 (the paper's setting) or demo.")
    ] = "default",
    text: Annotated[
        list[str] | None, typer.Option(help="Column with the text; give it twice for pairs.", rich_help_panel=_DATA)
    ] = None,
    label: Annotated[str | None, typer.Option(help="Column with the label.", rich_help_panel=_DATA)] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            help="classification, regression, multiple_choice or language_modelling; by default as the data look.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    max_length: Annotated[int, typer.Option(help="Longer texts are cut to this many tokens.", rich_help_panel=_DATA)] = 128,
    max_train: Annotated[int | None, typer.Option(help="Train on at most this many examples.", rich_help_panel=_DATA)] = None,
    max_validation: Annotated[
        int | None, typer.Option(help="Validate on at most this many examples.", rich_help_panel=_DATA)
    ] = None,
    max_test: Annotated[int | None, typer.Option(help="Test on at most this many examples.", rich_help_panel=_DATA)] = None,
    validation_share: Annotated[
        float, typer.Option(help="Share of the training data that validates.", rich_help_panel=_DATA)
    ] = 0.3,
    test_share: Annotated[
        float, typer.Option(help="Share held out for the test where the data have no test set.", rich_help_panel=_DATA)
    ] = 0.2,
    space: Annotated[str | None, typer.Option(help="small, medium, layer, sublayer or large.", rich_help_panel=_SPACE)] = None,
    heads: Annotated[
        str | None, typer.Option(help="Range of heads per layer: 4..12, 4..12:2 (steps of 2).", rich_help_panel=_SPACE)
    ] = None,
    units: Annotated[
        str | None, typer.Option(help="Range of units per layer: 256..1536:64, :64.", rich_help_panel=_SPACE)
    ] = None,
    layers: Annotated[str | None, typer.Option(help="Range of layers: 2..6.", rich_help_panel=_SPACE)] = None,
    objectives: Annotated[
        list[str] | None,
        typer.Option(
            "--objective",
            help="error, parameters, body_parameters, macs, latency or memory, also with a bound: 'latency<=20ms', "
            "'parameters<=50%'. Give it several times; error comes first.",
            rich_help_panel=_SEARCH,
        ),
    ] = None,
    searcher: Annotated[
        str | None,
        typer.Option(
            help="random, local, mo-rea, nsga2 or ehvi; by default local in small, else random.", rich_help_panel=_SEARCH
        ),
    ] = None,
    trials: Annotated[
        int | None, typer.Option(help="How many architectures the searcher may ask for.", rich_help_panel=_SEARCH)
    ] = None,
    depths: Annotated[
        bool | None,
        typer.Option(
            "--depths/--no-depths", help="In small, score every shallower network of a pass too.", rich_help_panel=_SEARCH
        ),
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option(help="standard, random, random-linear, sandwich, kd or full.", rich_help_panel=_TRAIN),
    ] = None,
    epochs: Annotated[float | None, typer.Option(help="Epochs of training.", rich_help_panel=_TRAIN)] = None,
    learning_rate: Annotated[
        float | None,
        typer.Option(help="Its peak; by default 1e-4 in a run of less than 1,500 steps, else 5e-5.", rich_help_panel=_TRAIN),
    ] = None,
    learning_rate_warmup: Annotated[
        float | None, typer.Option(help="Share of the steps in which it rises.", rich_help_panel=_TRAIN)
    ] = None,
    weight_decay: Annotated[float | None, typer.Option(help="AdamW's.", rich_help_panel=_TRAIN)] = None,
    batch_size: Annotated[int | None, typer.Option(help="Examples per step.", rich_help_panel=_TRAIN)] = None,
    k: Annotated[int | None, typer.Option("--k", help="Random sub-networks per step.", rich_help_panel=_TRAIN)] = None,
    temperature: Annotated[float | None, typer.Option(help="T of the distillation.", rich_help_panel=_TRAIN)] = None,
    squared_temperature: Annotated[
        bool | None,
        typer.Option(
            "--squared-temperature/--no-squared-temperature", help="Multiply the distillation by T².", rich_help_panel=_TRAIN
        ),
    ] = None,
    distillation_weight: Annotated[
        float | None, typer.Option(help="Weight of the distillation beside the task's loss.", rich_help_panel=_TRAIN)
    ] = None,
    group_by_length: Annotated[
        bool | None,
        typer.Option("--group-by-length/--shuffle", help="Batches of like length need less padding.", rich_help_panel=_TRAIN),
    ] = None,
    gradient_checkpointing: Annotated[
        bool, typer.Option("--gradient-checkpointing", help="Less memory, more time.", rich_help_panel=_TRAIN)
    ] = False,
    mixed_precision: Annotated[str | None, typer.Option(help="bf16 or fp16, on a GPU.", rich_help_panel=_TRAIN)] = None,
    order: Annotated[
        bool | None,
        typer.Option("--order/--no-order", help="Sort heads and units by importance first.", rich_help_panel=_TRAIN),
    ] = None,
    order_epochs: Annotated[
        float | None, typer.Option(help="Epochs of fine-tuning before importance is computed.", rich_help_panel=_TRAIN)
    ] = None,
    order_learning_rate: Annotated[float | None, typer.Option(help="Learning rate of these.", rich_help_panel=_TRAIN)] = None,
    polish: Annotated[
        bool | None, typer.Option("--polish/--no-polish", help="Fine-tune the chosen sub-networks.", rich_help_panel=_POLISH)
    ] = None,
    polish_at: Annotated[
        list[str] | None,
        typer.Option(
            help="Polish the best with at most this share (or number) of the body's parameters; give it several times.",
            rich_help_panel=_POLISH,
        ),
    ] = None,
    polish_epochs: Annotated[float | None, typer.Option(help="Epochs of polishing.", rich_help_panel=_POLISH)] = None,
    polish_learning_rate: Annotated[float | None, typer.Option(help="Learning rate of these.", rich_help_panel=_POLISH)] = None,
    evaluation_batch: Annotated[int, typer.Option(help="Examples per batch when scoring.", rich_help_panel=_MEASURE)] = 64,
    latency_batch: Annotated[int, typer.Option(help="Sequences per measured pass.", rich_help_panel=_MEASURE)] = 1,
    latency_length: Annotated[
        int, typer.Option(help="Tokens per measured sequence, at most as many as the model takes.", rich_help_panel=_MEASURE)
    ] = 128,
    threads: Annotated[int, typer.Option(help="CPU threads of a measured pass.", rich_help_panel=_MEASURE)] = 1,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:N, or auto for a GPU where there is one.")] = "auto",
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    progress: Annotated[bool, typer.Option("--progress/--quiet", help="Show progress.")] = True,
) -> Run:
    """Find the sub-networks of a pre-trained Transformer that trade quality against cost best, on your data and device.

    Trains the model as a super-network, searches it, fine-tunes the best, and writes a report. Everything lies in one
    folder; a run that was stopped goes on with `secateur resume`.
    """
    given = dict(locals())
    show = bool(given.pop("progress"))
    folder = given.pop("to")
    configuration = resolve(given)
    run: Run = start(configuration, folder, Progress(show))
    return run
