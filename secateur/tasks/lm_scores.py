"""A language model's scores on tasks of lm-evaluation-harness: what is asked, what comes out, and where it is written."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from secateur.errors import ConfigurationError
from secateur.paths import reason
from secateur.settings import MOST_BATCH, MOST_EXAMPLES, Settings, option
from secateur.writing import check_writable, write_whole

#: The 14 tasks of Javaheripi et al. (2022), section 4.5, as the paper names them → as the harness does. All need the hub.
LTS14 = {
    "HellaSwag": "hellaswag",
    "PIQA": "piqa",
    "ARC (easy)": "arc_easy",
    "ARC (challenge)": "arc_challenge",
    "OpenBookQA": "openbookqa",
    "WinoGrande": "winogrande",
    "BoolQ": "boolq",
    "CB": "cb",
    "COPA": "copa",
    "WIC": "wic",
    "WSC": "wsc",
    "MultiRC": "multirc",
    "RTE": "sglue_rte",
    "ReCoRD": "record",
}
TASK_PRESETS = {"lts14": tuple(LTS14.values())}

#: What counts as a task's accuracy, the first that it has. ReCoRD has exact match only.
ACCURACY = ("acc", "em", "exact_match")


@dataclass(frozen=True, kw_only=True)
class Questions(Settings):
    """What is asked of a model."""

    task: list[str] | None = option(
        None, "A task of lm-evaluation-harness, or the path of a task's YAML file. Repeat it for several."
    )
    preset: str | None = option(None, "lts14: the 14 tasks of Javaheripi et al. (2022).", known=tuple(TASK_PRESETS))
    shots: int = option(0, "Solved examples in front of each question.", least=0, most=1_000)
    limit: int | None = option(None, "Use only the first N examples of each task.", least=1, most=MOST_EXAMPLES)
    batch: int = option(8, "Sequences per forward pass.", least=1, most=MOST_BATCH)
    include: Path | None = option(None, "A folder with your own task files (YAML).")
    to: Path | None = option(None, "A JSON file to write the results to; must be new.")

    @property
    def names(self) -> list[str]:
        """The tasks of the preset, then those named, each once."""
        return list(dict.fromkeys([*TASK_PRESETS.get(self.preset or "", ()), *(self.task or [])]))

    def contradictions(self) -> list[str]:
        found = super().contradictions()
        if not self.names and self.preset is None:
            found.append("say which tasks: --task arc_easy (repeat it for several), or --preset lts14.")
        if not all(name.strip() for name in self.names):
            found.append("`task` must be a name, got an empty one.")
        if self.include is not None and not self.include.is_dir():
            found.append(f"`include` must be a folder with task files, which `{self.include}` is not.")
        if self.to is not None and self.to.exists():
            found.append(f"`to` must be a new file, but `{self.to}` exists.")
        return found


@dataclass(frozen=True)
class Score:
    """A metric's value, and its standard error where the harness estimates one."""

    value: float
    stderr: float | None


@dataclass(frozen=True)
class Scores:
    """Scores of one model: task → metric → score; per task, how many examples were asked and how many shots were shown."""

    model: str
    scores: dict[str, dict[str, Score]]
    examples: dict[str, int]
    shots: dict[str, int]
    #: Examples asked of each task at most; None: all.
    limit: int | None
    #: Of the harness, under `lm_eval`, and of each task's definition. Scores of different versions do not compare.
    versions: dict[str, str]

    @property
    def accuracies(self) -> dict[str, float]:
        """The accuracy of each task that has one."""
        found = {}
        for task, metrics in self.scores.items():
            named = [metrics[name].value for name in ACCURACY if name in metrics]
            if named:
                found[task] = named[0]
        return found

    @property
    def accuracy(self) -> float | None:
        """The mean over tasks of their accuracies, each task counting once; None where no task has one."""
        found = self.accuracies
        return sum(found.values()) / len(found) if found else None

    def as_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return {**asdict(self), "accuracy": self.accuracy}

    def __str__(self) -> str:
        rows = [("task", "metric", "value", "± stderr", "examples", "shots")]
        for task, metrics in self.scores.items():
            facts = (task, str(self.examples[task]), str(self.shots[task]))
            for metric, score in metrics.items():
                error = "" if score.stderr is None else f"± {score.stderr:.4f}"
                rows.append((facts[0], metric, f"{score.value:.4f}", error, *facts[1:]))
                facts = ("", "", "")
        if self.accuracy is not None:
            rows.append(("mean", "accuracy", f"{self.accuracy:.4f}", f"{len(self.accuracies)} tasks", "", ""))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        aligned = [str.ljust] * 2 + [str.rjust] * 4
        shown = [[put(*cell) for put, cell in zip(aligned, zip(row, widths, strict=True), strict=True)] for row in rows]
        return "\n".join([self.model, *("  " + "  ".join(row).rstrip() for row in shown)])


def score_network(network: Any, tokenizer: Any, name: str, questions: Questions) -> Scores:
    """The scores of a network, which the caller calls `name`.

    Raises ConfigurationError for unknown tasks or those that the network cannot do, ModelError where it predicts no next
    token, DataError for a task whose data cannot be had.
    """
    from secateur.tasks import harness

    harness.check_causal(network, name)
    tasks = harness.load_tasks(questions.names, include=questions.include, shots=questions.shots)
    harness.check_tasks(tasks, network)
    found = harness.run(network, tokenizer, tasks, limit=questions.limit, batch_size=questions.batch)
    return Scores(
        name,
        {task: metrics_of(found["results"][task]) for task in tasks},
        {task: int(found["n-samples"][task]["effective"]) for task in tasks},
        {task: int(found["n-shot"][task]) for task in tasks},
        questions.limit,
        {"lm_eval": version("lm-eval"), **{task: str(found["versions"].get(task, "")) for task in tasks}},
    )


def metrics_of(result: dict[str, Any]) -> dict[str, Score]:
    """`acc,none` and `acc_stderr,none` → `acc`; a filter other than none stays in the name: `exact_match (strict)`."""
    found = {}
    for key, value in result.items():
        metric, comma, filtered = key.partition(",")
        if not comma or metric.endswith("_stderr") or not isinstance(value, int | float):
            continue
        error = result.get(f"{metric}_stderr,{filtered}")
        name = metric if filtered == "none" else f"{metric} ({filtered})"
        found[name] = Score(float(value), float(error) if isinstance(error, int | float) else None)
    return found


def write_json(said: dict[str, Any] | None, to: Path) -> None:
    """Write the JSON file whole or not at all; with None only try to, in its folder, which is made.

    Raises ConfigurationError where that cannot be.
    """
    try:
        if said is None:
            check_writable(to.parent)
        else:
            write_whole(json.dumps(said, indent=2) + "\n", to)
    except OSError as error:
        raise ConfigurationError(f"`to` cannot be written: `{to}`: {reason(error)}.") from error
