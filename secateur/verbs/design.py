"""`secateur design`: the Pareto set of decoder language models on this device, without training one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from secateur.runs.design.run import DesignRun
from secateur.runs.design.settings import resolve
from secateur.runs.opening import start
from secateur.runs.progress import Progress

_SPACE, _NETWORK, _SEARCH, _MEASURE = "The space", "The networks", "The search", "Measuring"


def design(
    *,
    to: Annotated[
        Path | None,
        typer.Option(help="The run's folder; by default the next free one, runs/design-001.", show_default=False),
    ] = None,
    preset: Annotated[
        str,
        typer.Option(
            help="What is taken where you give nothing: default, javaheripi2022 (the paper's setting) or large (300–500 M)."
        ),
    ] = "default",
    backbone: Annotated[str, typer.Option(help="gpt2 or transformer_xl.", rich_help_panel=_SPACE)] = "gpt2",
    layers: Annotated[str | None, typer.Option(help="Range of layers; 2..16 by default.", rich_help_panel=_SPACE)] = None,
    width: Annotated[
        str | None, typer.Option(help="Range of the model's width; 128..1024:64 by default.", rich_help_panel=_SPACE)
    ] = None,
    inner: Annotated[
        str | None,
        typer.Option(
            help="Range of the inner width, at least twice the model's; 256..4096:64 by default.", rich_help_panel=_SPACE
        ),
    ] = None,
    heads: Annotated[str | None, typer.Option(help="Numbers of heads; 2,4,8 by default.", rich_help_panel=_SPACE)] = None,
    embedding: Annotated[
        str | None,
        typer.Option(
            help="Widths of the adaptive embedding; 128,256,512 by default, 0 is a plain table.", rich_help_panel=_SPACE
        ),
    ] = None,
    factor: Annotated[
        str | None,
        typer.Option(
            help="Factors k by which rarer words' vectors are narrower; 1,2,4 by default, 4 in the paper's preset.",
            rich_help_panel=_SPACE,
        ),
    ] = None,
    homogeneous: Annotated[
        bool, typer.Option("--homogeneous", help="Only networks whose layers are all equal.", rich_help_panel=_SPACE)
    ] = False,
    vocabulary: Annotated[int, typer.Option(help="Tokens of the vocabulary.", rich_help_panel=_NETWORK)] = 50257,
    positions: Annotated[int, typer.Option(help="The longest text, in tokens (GPT-2).", rich_help_panel=_NETWORK)] = 1024,
    cutoffs: Annotated[
        str | None,
        typer.Option(
            help="Where the vocabulary's clusters end: 20000,40000. By default these two and 200000.", rich_help_panel=_NETWORK
        ),
    ] = None,
    recurrence: Annotated[
        int, typer.Option(help="Tokens of the memory of earlier segments (Transformer-XL).", rich_help_panel=_NETWORK)
    ] = 192,
    objectives: Annotated[
        list[str] | None,
        typer.Option(
            "--objective",
            help="decoder_parameters (or another proxy of quality) first, then costs: latency, memory, parameters, macs; also "
            "with bounds: 'latency<=200ms'. Give it several times. By default decoder_parameters, latency, memory.",
            rich_help_panel=_SEARCH,
        ),
    ] = None,
    bounds: Annotated[
        list[str] | None,
        typer.Option(
            "--bound",
            help="A bound on what is not optimised: 'parameters<=30M', 'decoder_parameters>=5M'. Give it several times.",
            rich_help_panel=_SEARCH,
        ),
    ] = None,
    searcher: Annotated[
        str | None, typer.Option(help="evolution (the default), random, local, mo-rea, nsga2 or ehvi.", rich_help_panel=_SEARCH)
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(help="How many architectures the searcher may ask for; 2,500 by default.", rich_help_panel=_SEARCH),
    ] = None,
    hull: Annotated[
        bool | None,
        typer.Option("--hull/--no-hull", help="Evolution's parents lie on the front's convex hull.", rich_help_panel=_SEARCH),
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(
            help="front (the default): a latency model scores candidates, the front is measured; all: every candidate is.",
            rich_help_panel=_MEASURE,
        ),
    ] = None,
    most_measured: Annotated[
        int, typer.Option(help="At most this many of the front are measured at the end.", rich_help_panel=_MEASURE)
    ] = 40,
    seconds: Annotated[
        float, typer.Option(help="At most this long for each, in turns of a second.", rich_help_panel=_MEASURE)
    ] = 5.0,
    fit_seconds: Annotated[
        float, typer.Option(help="At most about this long for the latency model.", rich_help_panel=_MEASURE)
    ] = 240.0,
    runtime: Annotated[
        str, typer.Option(help="What runs the networks: torch, torch-int8, onnx or onnx-int8.", rich_help_panel=_MEASURE)
    ] = "torch",
    batch: Annotated[int, typer.Option(help="Texts per measured pass.", rich_help_panel=_MEASURE)] = 1,
    length: Annotated[int, typer.Option(help="Tokens per measured text.", rich_help_panel=_MEASURE)] = 192,
    threads: Annotated[int, typer.Option(help="CPU threads of a measured pass.", rich_help_panel=_MEASURE)] = 1,
    unsteady: Annotated[
        bool, typer.Option("--unsteady", help="Go on where the device cannot be measured steadily.", rich_help_panel=_MEASURE)
    ] = False,
    baselines: Annotated[
        bool,
        typer.Option("--baselines/--no-baselines", help="Measure layer-scaled baselines to compare.", rich_help_panel=_MEASURE),
    ] = True,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:N, or auto for a GPU where there is one.")] = "cpu",
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    progress: Annotated[bool, typer.Option("--progress/--quiet", help="Show progress.")] = True,
) -> DesignRun:
    """Find the decoder language models that trade quality against latency and memory best on this device. Trains nothing.

    A proxy that needs no training stands for quality: the number of parameters in the decoder's layers. Everything lies in one
    folder; a run that was stopped goes on with `secateur resume`, and `secateur train` trains what you pick.
    """
    given = dict(locals())
    show = bool(given.pop("progress"))
    folder = given.pop("to")
    run: DesignRun = start(resolve(given), folder, Progress(show))
    return run
