"""`secateur export`: a sub-network of a run as a folder that loads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from secateur.errors import ConfigurationError, StudyError
from secateur.export import Exported
from secateur.verbs.run import Run
from secateur.verbs.run_folder import parse_under
from secateur.verbs.starting import open_run


def export(
    run: Annotated[Path, typer.Argument(help="The run's folder.")],
    *,
    to: Annotated[Path, typer.Option(help="The folder to write; must be new.")],
    under: Annotated[
        list[str] | None,
        typer.Option(help="The best within a bound: body_parameters=50%, latency=20ms. Give it several times for several."),
    ] = None,
    key: Annotated[str | None, typer.Option(help="The sub-network with this key, or its beginning (see the report).")] = None,
    polished: Annotated[
        bool | None,
        typer.Option(
            "--polished/--shared", help="Which weights; by default the better on validation data.", show_default=False
        ),
    ] = None,
    onnx: Annotated[bool, typer.Option("--onnx", help="Write model.onnx as well.")] = False,
    int8: Annotated[bool, typer.Option("--int8", help="Write model.int8.onnx as well.")] = False,
) -> Exported:
    """Write a sub-network as a checkpoint that stock transformers loads, and compare its outputs before saying so."""
    if (key is None) == (not under):
        raise ConfigurationError("say which sub-network to export: either --under body_parameters=50% or --key …")
    opened = open_run(run)
    if not isinstance(opened, Run):
        raise StudyError(
            f"the architectures of `{run}` have no weights yet. Train one: secateur train {run} --pick KEY --text … --to {to}"
        )
    member = opened.member(key) if key is not None else opened.front.best(under=parse_under(under))
    return member.save(to, polished=polished, onnx=onnx, int8=int8)
