"""`secateur train`: an architecture of a design run, trained from scratch on a text, as a folder that loads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from secateur.errors import ConfigurationError, StudyError
from secateur.paths import quoted
from secateur.runs.design.contest import Contest
from secateur.runs.design.run import DesignRun
from secateur.runs.design.training import Trained, TrainSettings, train_architecture
from secateur.runs.folder import open_run, parse_under
from secateur.verbs.completion import run_folders
from secateur.verbs.signature import Key, Shown, takes

Under = Annotated[list[str] | None, typer.Option(help="The best within a bound: latency=200ms. Repeat it for several.")]
DesignFolder = Annotated[Path, typer.Argument(help="The folder of a run of `secateur design`.", autocompletion=run_folders)]


@takes(TrainSettings)
def train(
    settings: TrainSettings, run: DesignFolder, *, key: Key = None, under: Under = None, progress: Shown = True
) -> Trained:
    """Train an architecture that `secateur design` found, on your text. Run it again to continue exactly where it stopped.

    Raises ConfigurationError, DataError, StudyError, or Stopped on Ctrl-C, when what was done is saved.
    """
    opened = open_run(run)
    if not isinstance(opened, DesignRun):
        raise StudyError(
            f"`{run}` is a run of `secateur prune`, but `secateur train` needs one of `secateur design`. Its networks are "
            f"already trained: write one with secateur export {quoted(run)} --under body_parameters=50% --to …"
        )
    if settings.candidates > 1:
        if key is not None or not under:
            raise ConfigurationError("`candidates` are those within a bound: give --under latency=200ms, and no --key.")
        members = opened.front.best_first(under=parse_under(under))[: settings.candidates]
        contest = Contest.of([(member.architecture, member.sizes) for member in members], settings.stop_early)
        return contest.train(settings, progress=progress)
    member = opened.choose(key, under, "train", "latency=200ms")
    return train_architecture(member.architecture, member.sizes, settings, progress=progress)
