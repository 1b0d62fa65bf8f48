"""The tables of README.md, computed from the CSV files beside it.

python recipes/block-zoo/tables.py                  # writes them into README.md, between their marks; a test keeps them equal
python recipes/block-zoo/tables.py runs/block-zoo   # first keeps a run's rows here: networks.csv, seconds.csv
python recipes/block-zoo/tables.py runs/longer      # the same of longer.py: longer.csv; of search.py: search.csv
python recipes/block-zoo/tables.py runs/digits --table networks-digits.csv
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.stats import rankdata, spearmanr

from secateur.rng import generator

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from rows import filled as filled_with  # noqa: E402
from rows import is_known, markdown, replace_rows, rows_of  # noqa: E402, F401

FINALS = {"final_scratch": "scratch", "final_remapped": "remapped", "final_distilled": "distilled"}
#: Lee et al. (2022), table 1: Spearman's correlation on 40 networks with final accuracies from scratch, remapped, distilled.
PAPER = {
    "grad_norm": (0.540, 0.739, 0.679),
    "fisher": (0.422, 0.578, 0.523),
    "snip": (0.408, 0.610, 0.573),
    "synflow": (0.208, 0.449, 0.416),
    "naswot": (0.785, 0.765, 0.749),
    "macs": (0.328, 0.490, 0.556),
    "l2_norm": (0.070, 0.275, 0.249),
    "remapped": (0.275, 0.214, 0.343),
    "distilled_20": (0.216, 0.232, 0.202),
    "zoo_20": (0.797, 0.893, 0.887),
}
PROXIES = ("parameters", "macs", "grad_norm", "snip", "grasp", "fisher", "synflow", "jacob_cov", "naswot", "l2_norm")
ABLATIONS = {
    "remapped": "remapped, not distilled",
    "remapped_importance": "the same, channels by importance",
    "remapped_kept": "remapped, batch norms as they were",
    "distilled_20": "distilled from random weights, 20 batches",
    "distilled_40": "the same, 40 batches",
    "distilled_20_kept": "20 batches, batch norms as they were",
    "zoo_20": "remapped and distilled, 20 batches: the block zoo",
    "zoo_importance": "the same, channels by importance",
    "zoo_20_kept": "the block zoo, batch norms as they were",
}
CURVE = ("remapped", "zoo_1", "zoo_5", "zoo_10", "zoo_20")
OURS, SAMPLES = "zoo_20", 2000
#: The table of the networks that run.py trained.
NETWORKS = "networks.csv"
#: What longer.py calls its trainings, before their epochs.
LONGER = "scratch_"
MISSING = "–"
#: What search.py goes by, and which of its rows belong together.
FOUND = {
    OURS: "**block zoo**",
    "remapped": "remapped alone",
    "naswot": "NASWOT",
    "macs": "operations",
    "random": "random draws",
}
SEARCHED = ("data", "seed", "budget", "found_by")


def keep(run: Path, folder: Path = HERE, table: str = NETWORKS) -> None:
    """What a run has: a row per network that is done and the mean seconds of each quantity; or what searches found."""
    rows = [row for path in sorted(run.glob("rows-*.csv")) for row in rows_of(path)]
    searched = rows_of(run / "search.csv")
    if searched:
        replace_rows(folder / "search.csv", searched, SEARCHED)
        return
    if not rows:
        raise SystemExit(f"`{run}` has no rows.")
    names = list(dict.fromkeys(row["quantity"] for row in rows))
    if all(name.startswith(LONGER) for name in names):
        _merge(folder / "longer.csv", rows)
        return
    networks: dict[str, dict[str, str]] = {}
    for row in rows:
        one = networks.setdefault(row["network"], {"network": row["network"], "key": row["key"]})
        one[row["quantity"]] = row["value"]
    whole = {number: one for number, one in networks.items() if int(number) < 0 or all(f in one for f in FINALS)}
    kept = _merge(folder / table, list(whole.values()))
    if table != NETWORKS or not {row["network"] for row in kept} <= set(whole):
        return  # seconds are those of a run that has all networks
    with (folder / "seconds.csv").open("w", newline="", encoding="utf-8") as file:
        file.write("quantity,seconds\n")
        for name in names:
            spent = [float(row["seconds"]) for row in rows if row["quantity"] == name and row["network"] in whole]
            file.write(f"{name},{np.mean(spent):.4f}\n")


def _merge(path: Path, rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Put rows among those of a table, by the networks' numbers. Of networks that are the same the first stays."""
    numbered = {int(row["network"]): row for row in (*rows_of(path), *rows)}
    kept: dict[str, dict[str, str]] = {}
    for _, row in sorted(numbered.items()):
        kept.setdefault(row["key"], row)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(name for row in kept.values() for name in row)), lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept.values())
    return list(kept.values())


def columns(folder: Path = HERE, name: str = NETWORKS) -> dict[str, np.ndarray]:
    """Quantity → its values by network, NaN where there is none."""
    rows = [row for row in rows_of(folder / name) if int(row["network"]) >= 0]
    return {name: np.array([float(row[name] or "nan") for row in rows]) for name in rows[0] if name not in ("network", "key")}


def correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Spearman's, over the networks that have both; 0 where one of them is constant."""
    there = np.isfinite(one) & np.isfinite(other)
    one, other = one[there], other[there]
    if len(one) < 3 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return 0.0
    return float(spearmanr(one, other).statistic)


def bootstrapped(values: dict[str, np.ndarray], names: tuple[str, ...], final: str) -> dict[str, np.ndarray]:
    """Name → its correlation in each of the resamples, which are the same for all names: differences are paired."""
    count, rng = len(values[final]), generator(0, "block zoo", final)
    drawn = rng.integers(0, count, size=(SAMPLES, count))
    wanted = _standardised(values[final][drawn])
    # A network without a score counts as the worst.
    return {name: (_standardised(np.nan_to_num(values[name], nan=-np.inf)[drawn]) * wanted).mean(axis=1) for name in names}


def _standardised(values: np.ndarray) -> np.ndarray:
    """The ranks in each row (samples, networks), with mean 0 and deviation 1; zeros where all are equal."""
    ranks = rankdata(values, axis=1)
    ranks -= ranks.mean(axis=1, keepdims=True)
    deviation = ranks.std(axis=1, keepdims=True)
    return ranks / np.where(deviation == 0, 1, deviation)


def _seconds(folder: Path = HERE) -> dict[str, float]:
    return {row["quantity"]: float(row["seconds"]) for row in rows_of(folder / "seconds.csv")}


def _line(name: str, shown: str, values: dict[str, np.ndarray], resampled: dict[str, dict[str, np.ndarray]]) -> list[str]:
    cells = [shown]
    for place, final in enumerate(FINALS):
        draws = resampled[final]
        cell = f"{correlation(values[name], values[final]):.3f} ± {draws[name].std():.3f}"
        if name != OURS:
            better = (draws[OURS] > draws[name]).mean()
            cell += f" ({better:.0%})"
        cells.append(cell)
        cells.append(f"{PAPER[name][place]:.3f}" if name in PAPER else MISSING)
    return [*cells, f"{_seconds()[name]:.2f}"]


def _correlations(names: dict[str, str]) -> str:
    values = columns()
    every = tuple(dict.fromkeys((*names, OURS)))
    resampled = {final: bootstrapped(values, every, final) for final in FINALS}
    header = ["proxy", *(h for shown in FINALS.values() for h in (f"{shown}, here", "paper")), "seconds a network"]
    return markdown(header, [_line(name, shown, values, resampled) for name, shown in names.items()])


def proxies() -> str:
    """Every proxy, and the zoo: correlation with each final accuracy."""
    return _correlations({OURS: "**block zoo**", **{name: name for name in PROXIES}})


def ablations() -> str:
    return _correlations(ABLATIONS)


def digits() -> str:
    """The correlations of an earlier, smaller measurement."""
    values = columns(name="networks-digits.csv")
    names = (OURS, *PROXIES, "remapped", "distilled_20")
    resampled = {final: bootstrapped(values, names, final) for final in FINALS}
    shown = {**ABLATIONS, OURS: "**block zoo**"}
    lines = [
        [shown.get(n, n), *(f"{correlation(values[n], values[f]):.2f} ± {resampled[f][n].std():.2f}" for f in FINALS)]
        for n in names
    ]
    return markdown(["proxy", *FINALS.values()], lines)


def trained_longer(folder: Path = HERE) -> tuple[str, dict[str, np.ndarray]]:
    """What the longer training is called, and the quantities of the networks that had it, its accuracies among them."""
    trained = rows_of(folder / "longer.csv")
    (name,) = {row["quantity"] for row in trained}
    accuracy = {row["network"]: float(row["value"]) for row in trained if row["value"]}
    numbers = [row["network"] for row in rows_of(folder / NETWORKS) if int(row["network"]) >= 0]
    there = [place for place, number in enumerate(numbers) if number in accuracy]
    values = {quantity: found[there] for quantity, found in columns(folder).items()}
    return name, values | {name: np.array([accuracy[numbers[place]] for place in there])}


def longer() -> str:
    """The correlations with accuracy from scratch of the same networks, trained for as long as the others and for longer."""
    name, values = trained_longer()
    finals = {"final_scratch": "12 epochs", name: f"{name.removeprefix(LONGER)} epochs"}
    shown = {OURS: "**block zoo**", **{one: one for one in PROXIES}}
    shown |= {one: ABLATIONS[one] for one in ("remapped", "remapped_kept", "distilled_20", "zoo_20_kept")}
    shown |= {"final_scratch": "accuracy after 12 epochs from scratch", "final_distilled": "after 12 epochs from blocks"}
    resampled = {final: bootstrapped(values, tuple(shown), final) for final in finals}
    lines = []
    for one, told in shown.items():
        cells = [f"{correlation(values[one], values[final]):.2f} ± {resampled[final][one].std():.2f}" for final in finals]
        better = (resampled[name][OURS] > resampled[name][one]).mean()
        lines.append([told, *cells, MISSING if one == OURS else f"{better:.0%}"])
    header = [f"{len(values[name])} networks from scratch", *finals.values(), "the zoo is better at the longer"]
    return markdown(header, lines)


def curve() -> str:
    """Correlation by the number of batches."""
    values = columns()
    lines = []
    for name in CURVE:
        found = [f"{correlation(values[name], values[final]):.3f}" for final in FINALS]
        batches = name.removeprefix("zoo_").replace("remapped", "0")
        lines.append([batches, *found, f"{np.nanmean(values[name]):.3f}"])
    return markdown(["batches", *FINALS.values(), "mean accuracy of the assembled networks"], lines)


def spread() -> str:
    """How the networks differ, and how much a second seed agrees."""
    values = columns()
    lines = []
    for final, shown in FINALS.items():
        v = values[final]
        ends = f"{v.min():.3f}…{v.max():.3f}"
        lines.append([shown, str(len(v)), f"{v.mean():.3f}", f"{v.std(ddof=1):.3f}", ends])
    again, first = values["final_scratch_again"], values["final_scratch"]
    twice = np.isfinite(again)
    noise = np.std(again[twice] - first[twice], ddof=1) / np.sqrt(2)
    told = f"scratch, two seeds: Spearman {correlation(first, again):.3f}, deviation of a seed {noise:.3f}"
    lines.append([told, str(int(twice.sum())), MISSING, MISSING, MISSING])
    header = ["training from", "networks", "mean test accuracy", "deviation between networks", "least and most"]
    return markdown(header, lines)


def search() -> str:
    """Of each budget what the searches found, and random networks: means over seeds, where each has its mean of these."""
    rows, lines = rows_of(HERE / "search.csv"), []
    for data, budget, by in sorted({(row["data"], row["budget"], row["found_by"]) for row in rows}, key=_place):
        here = [row for row in rows if (row["data"], row["budget"], row["found_by"]) == (data, budget, by)]
        seeds = sorted({row["seed"] for row in here})
        each = [[row for row in here if row["seed"] == seed] for seed in seeds]
        told = []
        for name in ("parameters", "block_zoo", "scratch", "distilled"):
            means = np.array([np.mean([float(row[name]) for row in some]) for some in each])
            error = f" ± {means.std(ddof=1) / np.sqrt(len(means)):.3f}" if len(means) > 1 else ""
            told.append(f"{means.mean():,.0f}" if name == "parameters" else f"{means.mean():.3f}{error}")
        best = f"{np.mean([max(float(row['distilled']) for row in some) for some in each]):.3f}"
        networks = f"{len(here)}" if len(seeds) == len(here) else f"{len(seeds)} × {len(here) // len(seeds)}"
        lines.append([data, f"{float(budget):.0%}", FOUND[by], networks, *told, best])
    header = ["images", "budget", "found by", "networks", "parameters", "block zoo", "from scratch", "from the zoo's blocks"]
    return markdown([*header, "the best of these"], lines)


def _place(group: tuple[str, str, str]) -> tuple[str, float, int]:
    data, budget, by = group
    return data, float(budget), [*FOUND].index(by)


TABLES: dict[str, Callable[[], str]] = {
    "spread": spread,
    "proxies": proxies,
    "ablations": ablations,
    "longer": longer,
    "curve": curve,
    "digits": digits,
    "search": search,
}


def filled(page: str) -> str:
    return filled_with(page, TABLES)


def main() -> None:
    parser = argparse.ArgumentParser(description="The tables of README.md.")
    parser.add_argument("run", nargs="?", type=Path, help="keep what this run has first")
    parser.add_argument("--table", default=NETWORKS, help="as what a run of run.py is kept")
    given = parser.parse_args()
    if given.run is not None:
        keep(given.run, table=given.table)
    page = HERE / "README.md"
    page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
