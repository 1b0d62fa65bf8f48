"""`secateur export`: a sub-network of a run as a folder that loads, or the ONNX forms of a trained network."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from secateur.checkpoints.folders import is_trained
from secateur.errors import ConfigurationError, StudyError
from secateur.export import Exported
from secateur.export.hub import check_push
from secateur.export.hub import push as push_folder
from secateur.export.trained import export_trained
from secateur.paths import quoted
from secateur.runs.design.forms import judging_folder
from secateur.runs.design.training import UNFINISHED
from secateur.runs.folder import open_run
from secateur.runs.progress import Progress
from secateur.runs.prune.run import PruneRun
from secateur.verbs.completion import run_folders
from secateur.verbs.signature import Key, Shown, Under


def export(
    run: Annotated[
        Path, typer.Argument(help="The run's folder, or one that `secateur train` made.", autocompletion=run_folders)
    ],
    *,
    to: Annotated[
        Path | None,
        typer.Option(help="The folder to write; must be new. Without it a trained folder gets the files itself."),
    ] = None,
    under: Under = None,
    key: Key = None,
    polished: Annotated[
        bool | None,
        typer.Option(
            "--polished/--shared", help="Which weights; by default the better on validation data.", show_default=False
        ),
    ] = None,
    onnx: Annotated[bool, typer.Option("--onnx", help="Write model.onnx as well.")] = False,
    int8: Annotated[bool, typer.Option("--int8", help="Write model.int8.onnx as well.")] = False,
    push: Annotated[
        str | None, typer.Option(help="Upload it to a hub under this name, user/name; without --to it is kept nowhere else.")
    ] = None,
    private: Annotated[
        bool | None, typer.Option("--private/--public", help="Who may see what --push makes.", show_default=False)
    ] = None,
    text: Annotated[
        Path | None,
        typer.Option(
            help="The text that a folder of `secateur train` was trained on: each form is scored on its validation part."
        ),
    ] = None,
    progress: Shown = True,
) -> Exported:
    """Write a sub-network as a checkpoint that stock transformers loads, and compare its outputs before saying so.

    With --onnx or --int8 each form is scored on the run's validation data and timed, and the result says so side by side.
    A folder that `secateur train` made has its checkpoint already: --onnx and --int8 add those forms to it, or to a copy.

    Raises ConfigurationError, StudyError, ModelError, ExportError, or MissingExtraError without ONNX.
    """
    if private is not None and push is None:
        raise ConfigurationError("--private and --public are for --push NAME, which is not given.")
    if push is None:
        return _exported(run, to, under, key, polished, text, onnx=onnx, int8=int8, progress=progress)
    check_push(push)
    with TemporaryDirectory() as scratch:
        place = to if to is not None or is_trained(run) else Path(scratch) / push.rpartition("/")[2]
        exported = _exported(run, place, under, key, polished, text, onnx=onnx, int8=int8, progress=progress, pushed=True)
        return replace(exported, url=push_folder(exported.folder, push, private=private))


def _exported(
    run: Path,
    to: Path | None,
    under: list[str] | None,
    key: str | None,
    polished: bool | None,
    text: Path | None,
    *,
    onnx: bool,
    int8: bool,
    progress: bool,
    pushed: bool = False,
) -> Exported:
    """What is asked for, as a folder."""
    if is_trained(run):
        choices: dict[str, object] = {"under": under, "key": key, "polished": polished}
        return _forms(Path(run), to, choices, text, onnx=onnx, int8=int8, pushed=pushed, progress=progress)
    if text is not None:
        raise ConfigurationError("--text is for folders that `secateur train` made: a pruning run knows its data.")
    if to is None:
        raise ConfigurationError("say where to: --to names the folder to write, a new one.")
    opened = open_run(run)
    if not isinstance(opened, PruneRun):
        raise StudyError(
            f"the architectures of `{run}` have no weights yet. Train one: "
            f"secateur train {quoted(run)} --key KEY --text … --to …"
        )
    member = opened.choose(key, under, "export", "body_parameters=50%")
    exported: Exported = member.save(to, polished=polished, onnx=onnx, int8=int8, progress=progress)
    return exported


def _forms(
    folder: Path,
    to: Path | None,
    choices: dict[str, object],
    text: Path | None,
    *,
    onnx: bool,
    int8: bool,
    pushed: bool,
    progress: bool,
) -> Exported:
    """The ONNX forms of a trained folder."""
    faults = [
        f"`{name}` chooses among a run's sub-networks, and `{folder}` holds one trained network: leave it out."
        for name, value in choices.items()
        if value is not None and value != []
    ]
    if not (onnx or int8) and (to is not None or text is not None or not pushed):
        faults.append(f"`{folder}` holds a checkpoint that loads already: say what to add, --onnx or --int8.")
    if faults:
        raise ConfigurationError(faults)
    if (folder / UNFINISHED / "settings.json").exists():
        raise StudyError(f"`{folder}` holds an unfinished training. Run the same `secateur train` command again first.")
    if not (onnx or int8):
        return Exported.found(folder, "carried", {})
    judge = judging_folder(folder, text, Progress(progress))
    return export_trained(folder, to, onnx=onnx, int8=int8, judge=judge)
