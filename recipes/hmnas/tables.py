"""The tables of README.md, from the CSV files beside it: means over seeds ± standard errors.

python recipes/hmnas/tables.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from rows import filled, markdown, rows_of  # noqa: E402
from tuning import LEVELS  # noqa: E402

from secateur.runs.bench.ranks import standard_error  # noqa: E402

#: What is compared: (encoding, rule, stage) of networks.csv → what it is called, and the paper's test error and parameters.
STAGES = {
    ("multi-level", "", "super-network"): ("super-network", "4.2 %, 3 M"),
    ("multi-level", "masks", "masked"): ("masked", "5.14 %, 1.8 M"),
    ("multi-level", "masks", "fine-tuned"): ("masked and fine-tuned", "2.41 %, 1.8 M"),
}
RULES = {
    ("single-level", "top-2", "fine-tuned"): ("operations alone, top-2 rule", "3.1 %, 2.5 M"),
    ("multi-level", "top-2", "fine-tuned"): ("operations and edges, top-2 rule", "2.7 %, 2.1 M"),
    ("multi-level", "masks", "fine-tuned"): ("operations and edges, masks", "2.41 %, 1.8 M"),
}
CONTROLS = {
    ("multi-level", "random", "random architecture"): ("random cells, from random weights", "3.41 %, 2.1 M"),
    ("multi-level", "masks", "random weights"): ("the same cells, from random weights", "2.95 %, 1.8 M"),
    ("multi-level", "masks", "fine-tuned"): ("masked and fine-tuned", "2.41 %, 1.8 M"),
}
Which = dict[tuple[str, str, str], tuple[str, str]]


def said(values: Sequence[float], scale: float, digits: int) -> str:
    """A mean with its standard error."""
    found = scale * np.array(values)
    error = f" ± {float(standard_error(found)):.{digits}f}" if len(found) > 1 else ""
    return f"{found.mean():.{digits}f}{error}"


def networks(which: Which) -> str:
    """Test errors, parameters and operations of some networks."""
    lines = []
    for key, (name, paper) in which.items():
        rows = [row for row in rows_of(HERE / "networks.csv") if (row["encoding"], row["rule"], row["stage"]) == key]
        if rows:
            numbers = {
                n: [float(row[n]) for row in rows] for n in ("test_error", "parameters", "stored_parameters", "operations")
            }
            line = [name, str(len(rows)), said(numbers["test_error"], 100, 1)]
            lines.append([*line, *(said(numbers[n], 1, 0) for n in ("parameters", "stored_parameters", "operations")), paper])
    return markdown(["network", "seeds", "test error, %", "parameters", "stored", "operations", "paper"], lines)


def pairs() -> str:
    """Differences of test errors on equal seeds, which differ by less than the errors themselves."""
    every = {**STAGES, **RULES, **CONTROLS}
    errors: dict[tuple[str, str, str], dict[str, float]] = {}
    for row in rows_of(HERE / "networks.csv"):
        errors.setdefault((row["encoding"], row["rule"], row["stage"]), {})[row["seed"]] = float(row["test_error"])
    tuned = ("multi-level", "masks", "fine-tuned")
    two = ("multi-level", "top-2", "fine-tuned")
    asked = [(other, tuned) for other in every if other not in (tuned,)] + [(("single-level", "top-2", "fine-tuned"), two)]
    asked.insert(0, (("multi-level", "masks", "masked"), ("multi-level", "", "super-network")))
    lines = []
    for one, other in asked:
        seeds = sorted(set(errors.get(one, {})) & set(errors.get(other, {})))
        if seeds:
            gaps = [errors[one][seed] - errors[other][seed] for seed in seeds]
            lines.append([every[one][0], every[other][0], str(len(seeds)), said(gaps, 100, 1)])
    return markdown(["network", "minus", "seeds", "difference of test errors, points"], lines)


def edges() -> str:
    """How much edges count in the super-networks, and how much that depends on the seed."""
    rows = [row for row in rows_of(HERE / "edges.csv") if row["encoding"] == "multi-level"]
    lines = []
    for role in ("normal", "reduction"):
        nodes = sorted({int(row["node"]) for row in rows})
        for node in nodes:
            mine = [row for row in rows if row["role"] == role and int(row["node"]) == node]
            places = sorted({int(row["place"]) for row in mine})
            each = [said([float(row["share"]) for row in mine if int(row["place"]) == place], 1, 2) for place in places]
            lines.append([role, str(node), f"{1 / len(places):.2f}", " · ".join(each)])
    return markdown(["cell", "node", "alike", "edges from c_{k-2}, c_{k-1}, node 0, …"], lines)


def tuning() -> str:
    """Validation scores before any polishing, by settings."""
    rows = rows_of(HERE / "tuning.csv")
    lines = []
    for setting in dict.fromkeys(row["setting"] for row in rows):
        mine = [row for row in rows if row["setting"] == setting]
        found = {row["level"]: float(row["validation"]) for row in mine}
        lines.append(
            [
                mine[0]["method"],
                setting,
                *(f"{found[level]:.3f}" for level in LEVELS),
                f"{np.mean([found[n] for n in LEVELS]):.3f}",
            ]
        )
    return markdown(["method", "settings", *(f"≤ {level}" for level in LEVELS), "mean"], lines)


TABLES: dict[str, Callable[[], str]] = {
    "stages": lambda: networks(STAGES),
    "rules": lambda: networks(RULES),
    "controls": lambda: networks(CONTROLS),
    "pairs": pairs,
    "edges": edges,
    "tuning": tuning,
}


if __name__ == "__main__":
    page = HERE / "README.md"
    page.write_text(filled(page.read_text(encoding="utf-8"), TABLES), encoding="utf-8")
