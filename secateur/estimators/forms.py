"""How good and how quick the written forms of a network are: scored on the same batches, timed in turns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from secateur.anatomy.inputs import no_cache
from secateur.devices.inputs import dummy_inputs
from secateur.devices.latency import Latency, measure_latency
from secateur.devices.memory import peak_memory
from secateur.devices.runtime_memory import onnx_memory
from secateur.devices.setup import Setup
from secateur.errors import EvaluationFailure
from secateur.estimators.shared_weights import Batch, score
from secateur.export.onnx import onnx_inputs, onnx_session
from secateur.export.scored import FILES, Form, Forms, sizes
from secateur.tasks.metrics import Scorer
from secateur.tasks.task import Task

#: How often each form is timed, and for how many seconds at most.
TURNS, SECONDS = 3, 1.0
#: What the unpruned network is called among what is timed.
UNPRUNED = "unpruned"


def judge_forms(
    network: Any,
    folder: Path,
    setup: Setup,
    data: tuple[Task, Sequence[Batch]] | None,
    unscored: str = "",
    advance: Callable[[int, int], None] = lambda done, total: None,
    unpruned: Any = None,
) -> Forms:
    """The forms in a folder, whose checkpoint was reloaded as `network`: scored on the batches of the task, or
    `unscored` says why there are none, and timed on the CPU, in turns with the `unpruned` network where that is given."""
    found, said = sizes(folder), []
    steps = _Steps(advance, len(found) * (TURNS + (len(data[1]) if data else 0)) + (TURNS if unpruned is not None else 0))
    scores: dict[str, float] = {}
    metric = ""
    if data is not None:
        task, batches = data
        metric = "perplexity" if "perplexity" in task.metrics else task.main
        for name in found:
            try:
                scores[name] = _score(name, network, folder, task, steps.counted(batches))[metric]
            except EvaluationFailure as failure:
                said.append(f"{FILES[name]} could not be scored: {failure}.")
    latencies = _time(network, folder, list(found), replace(setup, device="cpu", seconds=SECONDS), steps, unpruned)
    if any(latency.loaded for latency in latencies.values()):
        said.append("The machine was busy with other work while the formats were timed.")
    room = _memory(network, folder, list(found), setup)
    forms = tuple(Form(name, size, scores.get(name), latencies[name].median, room[name]) for name, size in found.items())
    threads = f"{setup.threads} thread{'s' if setup.threads != 1 else ''}"
    timed = f"batch {setup.batch} × {setup.length} on the CPU, {threads}"
    return Forms(forms, metric, unscored, timed, tuple(said), None if unpruned is None else latencies[UNPRUNED].median)


class _Steps:
    """Says how many of all steps are done."""

    def __init__(self, advance: Callable[[int, int], None], total: int) -> None:
        self.advance, self.total, self.done = advance, total, 0

    def step(self) -> None:
        self.done += 1
        self.advance(self.done, self.total)

    def counted(self, batches: Iterable[Batch]) -> Iterable[Batch]:
        for batch in batches:
            yield batch
            self.step()


def _score(name: str, network: Any, folder: Path, task: Task, batches: Iterable[Batch]) -> dict[str, float]:
    if name == "torch":
        return score(network, task, batches)
    session, scorer = onnx_session(folder / FILES[name]), Scorer(task)
    for batch in batches:
        scorer.update(session.run(["logits"], onnx_inputs(session, batch))[0], batch["labels"])
    return scorer.compute()


def _time(network: Any, folder: Path, names: Sequence[str], setup: Setup, steps: _Steps, unpruned: Any) -> dict[str, Latency]:
    """The quickest of each form's turns: other work only ever slows a pass down, and for seconds at a time."""
    network.eval()
    inputs = dummy_inputs(network, setup.batch, setup.length, setup.kind)
    runs = {name: _run(name, network, folder, inputs, setup.threads) for name in names}
    if unpruned is not None:
        runs[UNPRUNED] = _run("torch", unpruned.cpu().eval(), folder, inputs, setup.threads)
    quickest: dict[str, Latency] = {}
    for _ in range(TURNS):
        for name, run in runs.items():
            latency = measure_latency(run, setup)
            if name not in quickest or latency.median < quickest[name].median:
                quickest[name] = latency
            steps.step()
    return quickest


def _memory(network: Any, folder: Path, names: Sequence[str], setup: Setup) -> dict[str, float]:
    """The peak of a pass, in bytes, of each form."""
    inputs = dummy_inputs(network, setup.batch, setup.length, setup.kind)
    found = {}
    for name in names:
        with TemporaryDirectory(prefix="secateur-onnx-") as scratch:
            peak = peak_memory(network, inputs) if name == "torch" else onnx_memory(folder / FILES[name], inputs, Path(scratch))
        found[name] = float(peak.peak)
    return found


def _run(name: str, network: Any, folder: Path, inputs: dict[str, torch.Tensor], threads: int) -> Callable[[], object]:
    if name == "torch":
        options = no_cache(network)
        return lambda: network(**inputs, **options)
    session = onnx_session(folder / FILES[name], threads)
    feed = onnx_inputs(session, inputs)
    return lambda: session.run(None, feed)
