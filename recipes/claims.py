"""docs/claims.md from claims.template.txt: every number that was measured here is computed from a table of these folders.

python recipes/claims.py > docs/claims.md      # a test keeps the page equal
"""

from __future__ import annotations

import csv
import importlib.util
import json
import math
import sys
from pathlib import Path
from statistics import fmean
from typing import Any

from secateur.spaces.decoder import PAPER, Decoder
from secateur.tables import read_trained

HERE = Path(__file__).resolve().parent
TASKS = ("stsb", "sst2", "mrpc")
#: MiniLM's parameters with a head for two labels, without and with its layers.
EMPTY, WHOLE = 12_067_202, 22_713_986
BACKBONES = ("gpt2", "transformer_xl")


def load(name: str) -> Any:
    """A script of these folders as a module."""
    spec = importlib.util.spec_from_file_location(f"claims_{Path(name).stem}", HERE / name)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(name: str) -> list[dict[str, str]]:
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def pruning() -> dict[str, str]:
    """Scores of pruned networks."""
    t = load("prune-minilm/tables.py")
    found = t.scores()

    def score(method: str, task: str, share: str, polished: bool = False) -> float:
        return float(t.mean(found[task, method, share, polished]))

    def kept(value: float, task: str) -> str:
        return f"{100 * value / t.best_unpruned(task):.0f} %"

    ours = {task: score(t.CHOSEN[task], task, "0.5", True) for task in TASKS}
    told = {
        "full_kept": ", ".join(kept(score("full", task, "0.5"), task) for task in TASKS),
        "ours_kept": ", ".join(kept(ours[task], task) for task in TASKS),
        "ours": ", ".join(f"{ours[task]:.3f}" for task in TASKS),
        "dropped": ", ".join(f"{t.mean(t.dropped(task, '0.5')):.3f}" for task in TASKS),
    }
    s = load("prune-minilm/strategies.py")
    drawn = s.read(s.HERE / "points.jsonl")
    for ((task, _), method), values in s.hypervolumes(s.in_small(drawn)).items():
        told[f"{task}_{method}".replace("-", "_")] = f"{fmean(values):.2f}"
    told["mrpc_at_chance"] = f"{100 * s.at_majority(s.in_small(drawn)):.0f} %"
    for name in ("small", "medium"):
        drew = sorted(size for row in drawn if (row["space"], row["task"]) == (name, "mrpc") for _, size in row["points"])
        ends = [100 * (drew[int(share * len(drew))] - EMPTY) / (WHOLE - EMPTY) for share in (0.1, 0.9)]
        told[f"sizes_{name}"] = f"{ends[0]:.0f} to {ends[1]:.0f} %"
    spaces = s.hypervolumes(s.by_space(drawn))
    for name in {space for _, space in spaces}:
        volumes = [f"{fmean(spaces[task, name]):.2f}" for task in sorted({task for task, _ in spaces})]
        told[f"space_{name}"] = " and ".join(volumes)
    return told | methods() | quantised() | found_by_searchers()


def methods() -> dict[str, str]:
    """Scores of the ways to prune, means over seeds."""
    r = load("prune-methods/results.py")
    found = {score: r.means(r.compared(), ("task", "method"), score) for score in ("validation", "test")}

    def score(method: str, tasks: tuple[str, ...], share: str, data: str) -> str:
        return ", ".join(f"{fmean(found[data][task, method][share]):.3f}" for task in tasks)

    several = {
        "random": "standard-random",
        "asha": "standard-mo-asha",
        "polished": "weight-sharing",
        "shared": "weight-sharing, unpolished",
    }
    told = {
        f"{name}_{task}": score(method, (task,), "0.5", "validation")
        for name, method in several.items()
        for task in ("stsb", "mrpc")
    }
    for name, method in (("shared", "weight-sharing, unpolished"), ("masked", "fisher, unpolished")):
        told |= {f"{name}_{share}": score(method, TASKS, f"0.{share[0]}", "test") for share in ("50", "70")}
    return told | {"heads_70": score("head-pruning, unpolished", ("stsb", "mrpc"), "0.7", "test")}


def quantised() -> dict[str, str]:
    """The unpruned network's formats beside ONNX in float."""
    whole = [row for row in rows("prune-methods/quantised.csv") if row["key"] == "unpruned"]
    told: dict[str, str] = {}
    for bits in ("int8", "int4"):
        parts: dict[str, list[float]] = {"memory": [], "latency": []}
        for task in sorted({row["task"] for row in whole}):
            forms = {row["format"]: row for row in whole if row["task"] == task}
            for name, found in parts.items():
                found.append(float(forms[f"ONNX {bits}"][name]) / float(forms["ONNX"][name]))
        told[f"{bits}_memory"] = f"{100 * fmean(parts['memory']):.0f} %"
        told[f"{bits}_faster"] = f"{1 / fmean(parts['latency']):.1f} ×"
    return told


def found_by_searchers() -> dict[str, str]:
    """Shares of the best hypervolume that searchers reach on tables of errors, means over the super-networks and seeds."""
    t = load("prune-minilm/searchers.py")
    out: dict[str, str] = {}
    for sweep, how in ((True, "swept"), (False, "plain")):
        for name, along in t.means(sweep).items():
            out |= {f"{name}_{how}_{trials}": f"{100 * value:.1f} %" for trials, value in zip(t.TRIALS, along, strict=True)}
    return out


def ranking() -> dict[str, str]:
    """How proxies rank trained networks."""
    published = load("design/published.py").figures()

    def source(table: str, proxy: str) -> str:
        row = next(r for key, r in published.items() if key[:3] == (table, "spearman", proxy) and float(key[3]) == 1.0)
        return f"{float(row['value']):.3f}"

    summary = {row["proxy"]: float(row["spearman"]) for row in rows("design/proxies-summary.csv")}
    below = [f"{name} {value:.2f}" for name, value in summary.items() if value < 0.8 and not name.startswith("partial")]
    size = Decoder("gpt2", **{**PAPER, "factor": (1, 2, 4)}).size()
    power = int(math.log10(size))
    return {
        "wt103": source("random_GPT2_wt103", "decoder_parameters"),
        "lm1b": source("random_GPT2_lm1b", "decoder_parameters"),
        "wt103_all": source("random_GPT2_wt103", "parameters"),
        "below": ", ".join(below),
        "size": f"{size / 10**power:.1f} × 10^{power}",
        **{f"own_{name}": f"{summary[name]:.3f}" for name in ("decoder_parameters", "parameters", "snip")},
        "partial_first": f"{summary['partial_1.25%']:.2f}",
        "partial_20": f"{summary['partial_20%']:.2f}",
        "partial_40": f"{summary['partial_40%']:.2f}",
    }


def searching() -> dict[str, str]:
    """How near searches come to the best, and what they save."""
    topology = load("design/topology.py")
    optimum, savings = rows("design/optimum.csv"), rows("design/savings.csv")
    told = {name: f"{max(topology.spreads(topology.measured(), name).values()):.1f} ×" for name in ("latency", "memory")}
    trained = read_trained(HERE / "design/benchmark.parquet").only("topology").averaged()
    worst = [max(abs(off) for *_, off in members) for members in topology.deviations(trained).values()]
    told |= {"off_large": f"{100 * min(worst):.1f} %", "off_small": f"{100 * max(worst):.0f} %"}
    lines = map(json.loads, (HERE.parent / "benchmarks" / "measured.jsonl").read_text(encoding="utf-8").splitlines())
    told["search_minutes"] = f"{next(line['seconds'] for line in lines if 'fit_seconds' in line) / 60:.0f}"

    def share(backbone: str, searcher: str) -> str:
        wanted = (backbone, searcher, "3")
        found = [float(r["hypervolume"]) for r in optimum if (r["backbone"], r["searcher"], r["objectives"]) == wanted]
        return f"{100 * fmean(found):.1f} %"

    def times(family: str, column: str, layers: str | None = None) -> str:
        found = [float(r[column]) for r in savings if r["baseline"] == family and r[column] and layers in (None, r["layers"])]
        return f"{fmean(found):.2f} ×"

    searchers = {"evolution": "evolution", "hull": "evolution on the hull", "random": "random", "alike": "homogeneous"}
    for name, searcher in searchers.items():
        told[f"volume_{name}"] = " and ".join(share(backbone, searcher) for backbone in BACKBONES)
    families = {
        "lts_gpt2": "LTS's GPT-2",
        "lts_xl": "LTS's Transformer-XL",
        "alike_gpt2": "GPT-2 small with embedding 128",
        "alike_xl": "Transformer-XL base with embedding 128",
    }
    for name, family in families.items():
        told[f"{name}_latency"] = times(family, "latency_times")
        told[f"{name}_latency_16"] = times(family, "latency_times", "16")
        told[f"{name}_memory"] = times(family, "memory_times")
    return told | trained_fronts()


def trained_fronts() -> dict[str, str]:
    """What a trained front saves at equal perplexity, against either baseline."""
    equal = load("design/equal_perplexity.py")
    table = read_trained(HERE / "design/benchmark.parquet")
    front, told = table.only("search").averaged(), {}
    for source in equal.BASELINES:
        saved = equal.savings(table.only(source).averaged(), front, "latency")
        told[f"trained_{source}"] = f"{fmean(times for _, times, _ in saved):.2f} ×"
    return told


def published_tables() -> dict[str, str]:
    """What searchers found on NAS-Bench-201 and on a surrogate of NAS-Bench-101."""
    told = {}
    for row in rows("nasbench/search.csv"):
        name = row["searcher"].partition(":")[0].replace("-", "_")
        if row["queries"] == "100":
            told[f"found_{name}"] = f"{float(row['cifar10_validation@200']):.2f} / {float(row['cifar10_test@200']):.2f}"
        if row["queries"] == "150":
            told[f"regret_{name}"] = f"{float(row['regret']):.2f}"
    timed = rows("nasbench/fidelity.csv")
    last = max(int(row["simulated_seconds"]) for row in timed)
    for row in timed:
        if int(row["simulated_seconds"]) == last:
            told[f"late_{row['searcher'].partition(':')[0].replace('-', '_')}"] = f"{float(row['regret']):.2f}"
    return told | {"seconds": f"{last:,}"}


def learnt_encodings() -> dict[str, str]:
    """What learnt encodings rebuild, predict and find."""
    told: dict[str, str] = {}
    for row in rows("arch2vec/pretraining.csv"):
        for figure in ("cells", "validity", "uniqueness", "read_validity", "spelt_uniqueness"):
            if row[figure]:
                told[f"{row['name']}_{figure}".replace("-", "_")] = f"{100 * float(row[figure]):.1f}"
    names = {"dngo:adjacency": "dngo_adjacency", "local": "local", "bananas:path": "bananas"}
    for row in rows("arch2vec/search.csv"):
        method, runs, folder = row["searcher"].partition(":runs/")
        name = f"{method}_{folder.partition('/')[0]}" if runs else names.get(row["searcher"], "")
        name = name.replace("-", "_").replace(":20/20", "")
        if name and row["queries"] == "100":
            told[f"at100_{name}"] = f"{float(row['cifar10_validation@200']):.2f} / {float(row['cifar10_test@200']):.2f}"
        if name and row["queries"] == "150":
            told[f"at150_{name}"] = f"{float(row['regret']):.2f}"
    for row in rows("arch2vec/predict.csv"):
        encoding = row["encoding"].rpartition("/")[2].replace("-", "_")
        told[f"{row['predictor']}_{encoding}"] = f"{float(row['rmse']):.1f} and {float(row['pearson']):.2f}"
    for row in rows("cate/search.csv"):
        if row["queries"] == "60":
            encoding = row["searcher"].rpartition(":")[2].rpartition("/")[2].replace("-", "_")
            told[f"pool_{encoding}"] = f"{float(row['regret']):.3f} ± {float(row['regret_error']):.3f}"
    for row in rows("cate/outside.csv"):
        if row["queries"] == "30":
            encoding = row["searcher"].rpartition(":")[2].rpartition("/")[2].replace("-", "_")
            told[f"outside_{encoding}"] = f"{float(row['regret']):.3f}"
    return told


def learning_curves() -> dict[str, str]:
    """How curves are modelled and extrapolated, and what that brings to searches."""
    told: dict[str, str] = {}
    for row in (row for row in rows("nasbenchx11/surrogates.csv") if row["table"] == "curves-wikitext2"):
        name = f"{row['compressor']}_{row['regressor']}"
        told[f"r2_{name}"], told[f"kl_{name}_{row['noise']}"] = f"{float(row['r2']):.3f}", f"{float(row['kl']):.1f}"
    for row in rows("nasbenchx11/nlp.csv"):
        name = f"nlp_{row['compressor']}_{row['regressor']}_{row['early']}"
        told[name] = " / ".join(f"{float(row[n]):.2f}" for n in ("kendall", "kendall_final"))
    for row in rows("nasbenchx11/search.csv"):
        plain, plus, early = row["searcher"].partition("+")
        name = plain.partition(":")[0].replace("-", "_") + (f"_{early.partition(':')[0]}" if plus else "")
        told[f"{row['table']}_{name}_{100 * float(row['share']):.0f}"] = f"{float(row['regret']):.4f}"
    return told


def cells() -> dict[str, str]:
    """Test errors of HM-NAS, in points, means over seeds."""
    errors: dict[str, list[float]] = {}
    for row in rows("hmnas/networks.csv"):
        name = "_".join(row[n] or "none" for n in ("encoding", "rule", "stage")).replace("-", "_").replace(" ", "_")
        errors.setdefault(f"hmnas_{name}", []).append(100 * float(row["test_error"]))
    return {name: f"{fmean(several):.1f}" for name, several in errors.items()}


def zoo() -> dict[str, str]:
    """How the block zoo and others rank networks for images, by training."""
    t = load("block-zoo/tables.py")
    proxies = ("zoo_20", "naswot", "remapped", "distilled_20")
    (longer, some), values = t.trained_longer(), t.columns()
    found = {
        f"zoo_{name}_{shown}": f"{t.correlation(values[name], values[final]):.2f}"
        for name in proxies
        for final, shown in t.FINALS.items()
    }
    return found | {f"zoo_{name}_longer": f"{t.correlation(some[name], some[longer]):.2f}" for name in proxies}


def everything() -> str:
    template = (HERE / "claims.template.txt").read_text(encoding="utf-8")
    several = (pruning, ranking, searching, published_tables, learnt_encodings, learning_curves, cells, zoo)
    return template.format(**{name: value for each in several for name, value in each().items()})


if __name__ == "__main__":
    print(everything(), end="")
