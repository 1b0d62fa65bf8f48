"""The tables of README.md, computed from the CSV files beside it.

python recipes/nasbenchx11/tables.py    # writes them into README.md, between their marks; a test keeps them equal
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kept import HERE, TABLE, TINY, markdown, mean_ranks, rows_of
from kept import filled as filled_with

#: Yan (2022), table 5.3, NAS-Bench-NLP11 (14,322 cells): R² on average and at the end, Kendall's τ on average and at the end.
PAPER = {
    ("svd", "lgb"): (0.878, 0.895, 0.878, 0.844),
    ("svd", "xgb"): (0.877, 0.806, 0.856, 0.820),
    ("svd", "mlp"): (0.893, 0.856, 0.742, 0.692),
    ("vae", "lgb"): (0.862, 0.847, 0.766, 0.770),
    ("vae", "xgb"): (0.875, 0.860, 0.720, 0.687),
    ("vae", "mlp"): (0.867, 0.871, 0.667, 0.685),
}
SCORES = ("r2", "r2_final", "kendall", "kendall_final")


def rows(name: str) -> list[dict[str, str]]:
    return rows_of(HERE / name)


def pair(row: Mapping[str, str], *names: str, digits: int = 3) -> str:
    """Several figures of a row."""
    return " / ".join(f"{float(row[name]):.{digits}f}" for name in names)


def surrogates(table: str) -> str:
    """On our decoders: R² and τ by compressor and regressor, the divergence by noise, and the share of trainings held out that
    lie in the band of nine of ten by two noises."""
    found = [row for row in rows("surrogates.csv") if row["table"] == table]
    noises = list(dict.fromkeys(row["noise"] for row in found))
    lines = []
    for compressor, regressor in dict.fromkeys((row["compressor"], row["regressor"]) for row in found):
        mine = {row["noise"]: row for row in found if (row["compressor"], row["regressor"]) == (compressor, regressor)}
        one = mine[noises[0]]
        diverged = [pair(mine[noise], "kl", "kl_final", digits=1) for noise in noises]
        size = f"{float(one['components']):.1f}"
        inside = " / ".join(f"{float(mine[noise]['within']):.2f}" for noise in ("kde", "seeds"))
        lines.append([f"{compressor}-{regressor}", size, pair(one, *SCORES[:2]), pair(one, *SCORES[2:]), *diverged, inside])
    header = ["model", "numbers", "R²", "Kendall's τ", *(f"KL, {noise}" for noise in noises), "in the band: kde / seeds"]
    return markdown(header, lines)


def nlp() -> str:
    """On NAS-Bench-NLP: with the first three epochs and without, beside the paper's."""
    found = {(row["compressor"], row["regressor"], row["early"]): row for row in rows("nlp.csv")}
    lines = []
    for compressor, regressor in dict.fromkeys((c, r) for c, r, _ in found):
        told = [pair(found[compressor, regressor, early], *SCORES, digits=2) for early in ("0", "3")]
        lines.append([f"{compressor}-{regressor}", *told, " / ".join(f"{v:.2f}" for v in PAPER[compressor, regressor])])
    return markdown(["model", "architecture alone", "with three epochs", "paper, with three epochs"], lines)


def _told(found: Iterable[Mapping[str, str]], shares: Iterable[str], train: str) -> list[str]:
    """Kendall's τ and calibration at each share, of one extrapolator that knows so many trainings."""
    by = {(row["share"], row["train"]): row for row in found}
    few = min((known for _, known in by), key=int)
    cells = []
    for share in shares:
        row = by.get((share, train), by[share, few])
        within = f"{float(row['within_1']):.2f}" if row["within_1"] else "–"
        cells.append(f"{float(row['kendall']):.3f} ({within})")
    return cells


def extrapolators(file: str, table: str | None = None) -> str:
    """Kendall's τ of predicted ends, and how many lie within one deviation."""
    found = [row for row in rows(file) if table is None or row["table"] == table]
    shares = list(dict.fromkeys(row["share"] for row in found))
    lines = []
    for name in dict.fromkeys(row["extrapolator"] for row in found):
        mine = [row for row in found if row["extrapolator"] == name]
        for train in ("20", "100") if len({row["train"] for row in mine}) > 1 else ("20",):
            lines.append([name, train if len(mine) > len(shares) else "none", *_told(mine, shares, train)])
    return markdown(["extrapolator", "trainings known", *(f"after {float(s):.0%}" for s in shares)], lines)


def tuning() -> str:
    """The mean rank of each share that goes on, on NAS-Bench-101's surrogate."""
    stopped = [row for row in rows("tuning.csv") if "/" in row["searcher"].partition("+")[2]]
    ranks = mean_ranks(stopped, lambda row: row["searcher"].rpartition("/")[2])
    return markdown(["goes on", "mean rank"], [[f"{float(keep):.0%}", f"{rank:.2f}"] for keep, rank in ranks.items()])


def search(table: str) -> str:
    """Regret at equal simulated time."""
    found = {(row["searcher"], float(row["share"])): row for row in rows("search.csv") if row["table"] == table}
    shares = sorted({share for _, share in found})
    lines = []
    for one in sorted({s for s, _ in found}, key=lambda s: [float(found[s, at]["regret"]) for at in reversed(shares)]):
        each = [f"{float(found[one, s]['regret']):.4f} ± {float(found[one, s]['regret_error']):.4f}" for s in shares]
        lines.append([one, *each, f"{float(found[one, shares[-1]]['rank']):.1f}"])
    return markdown(["searcher", *(f"{100 * s:.0f} trainings' time" for s in shares), "rank at the end"], lines)


def few() -> str:
    """Regret with LcSVR by the share of a training after which it tells the end, after the time of 25, 50 and 100 trainings."""
    found = {(row["table"], row["searcher"], row["share"]): float(row["regret"]) for row in rows("few.csv")}
    plain = list(dict.fromkeys((table, searcher) for table, searcher, _ in found if "+" not in searcher))
    stops = sorted(
        {name.partition(":0.")[2].partition("/")[0] for _, name, _ in found if "+" in name}, key=lambda n: float(f"0.{n}")
    )
    ending = next(name.rpartition("/")[2] for _, name, _ in found if "+" in name)
    lines = []
    for table, searcher in plain:
        several = [searcher, *(f"{searcher}+svr:0.{stop}/{ending}" for stop in stops)]
        lines.append(
            [table, searcher, *(" / ".join(f"{found[table, one, at]:.4f}" for at in ("0.25", "0.5", "1")) for one in several)]
        )
    return markdown(["table", "searcher", "whole trainings", *(f"after {float(f'0.{stop}'):.0%}" for stop in stops)], lines)


def standard() -> str:
    """What stopping brings among real trainings of MiniLM's sub-networks."""
    found = rows("standard.csv")
    kinds = list(dict.fromkeys(row["objectives"] for row in found))
    by = {(row["searcher"], row["objectives"]): row for row in found}
    lines = []
    for one in sorted({s for s, _ in by}, key=lambda s: [float(by[s, kind]["regret"]) for kind in kinds]):
        told = [f"{float(by[one, k]['regret']):.4f} ± {float(by[one, k]['regret_error']):.4f}" for k in kinds]
        lines.append([one, *told])
    return markdown(["searcher", *(f"regret: {' and '.join(kind.split())}" for kind in kinds)], lines)


def real() -> str:
    """Runs of the same candidates, one of which stops none: what each took and the lowest error that it found."""
    names = {"none": "no", "last": "by the last value", "last, as many epochs": "the same, on to as many epochs"}
    names["svr"] = "by LcSVR"
    tasks, lines = {"stsb": "STS-B", "mrpc": "MRPC", "sst2": "SST-2"}, []
    for row in sorted(rows("real.csv"), key=lambda row: (int(row["examples"]), [*tasks].index(row["task"]))):
        told = [row[name] for name in row if name.startswith("error")]
        errors = [f"{float(error):.3f}" if error else "–" for error in told]
        counts = [row["candidates"], row["whole trainings"], f"{float(row['epochs']):.0f}"]
        each = f"{row['epochs of each']} × {int(row['examples']):,}"
        lines.append([tasks[row["task"]], each, names[row["stopping"]], *counts, *errors])
    levels = [f"≤ {name.removeprefix('error, ')}" for name in rows("real.csv")[0] if name.startswith("error")]
    header = ["task", "epochs × examples", "stopped", "candidates", "trained to the end", "epochs", *levels]
    return markdown(header, lines)


TABLES: dict[str, Callable[[], str]] = {
    "surrogates": lambda: surrogates(TABLE),
    "surrogates-tiny": lambda: surrogates(TINY),
    "nlp": nlp,
    "extrapolators": lambda: extrapolators("extrapolators.csv", TABLE),
    "extrapolators-tiny": lambda: extrapolators("extrapolators.csv", TINY),
    "nlp-extrapolators": lambda: extrapolators("nlp-extrapolators.csv"),
    "tuning": tuning,
    "search-trained": lambda: search("trained"),
    "search-tiny": lambda: search("tiny"),
    "search-surrogate": lambda: search("surrogate"),
    "few": few,
    "standard": standard,
    "real": real,
}


def filled(text: str) -> str:
    """The text with the tables between their marks."""
    return filled_with(text, TABLES)


if __name__ == "__main__":
    page = HERE / "README.md"
    page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
