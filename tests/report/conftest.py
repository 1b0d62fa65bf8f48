"""Synthetic runs: `tiny` and `tiny_design`, to be checked by hand; `large_run` and `design_run`, with fronts like real ones."""

from __future__ import annotations

import dataclasses
import html
import math

import numpy as np
import pytest

from secateur.pareto import non_dominated
from secateur.report import DesignReportData, ReportData, render
from secateur.report.charts import plotly_javascript

RUN = {"created": "2026-01-02 03:04", "version": "0.0", "device": "a CPU", "notes": ["the machine was busy"]}
TASK = {"name": "toy", "kind": "classification", "main": "accuracy", "metrics": ["accuracy", "f1"], "sizes": {"train": 70}}


def trial(number, key, values, status="complete", asked=True, reason=None, **more):
    return {
        "number": number,
        "id": number if asked else None,
        "origin": "asked" if asked else "sweep",
        "status": status,
        "key": key,
        "architecture": f"small({key})",
        "values": values,
        "details": {},
        "reason": reason,
        "seconds": 1.5 if asked else None,
        **more,
    }


def on_the_front(trials, *names):
    """The complete trials that no other dominates; `decoder_parameters` is maximised, all else minimised."""
    complete = [t for t in trials if t["status"] == "complete"]
    points = np.array([[t["values"][n] * (-1 if n == "decoder_parameters" else 1) for n in names] for t in complete])
    return [t for t, keep in zip(complete, non_dominated(points), strict=True) if keep]


def tiny_run() -> ReportData:
    """Two layers of 2 heads and 4 units. The unpruned network: error 0.2, 1,000 parameters, test accuracy 0.75."""
    plan = {"layers": [{"index": 0, "heads": 1, "units": 2}]}

    def values(error, size):
        return {"error": error, "parameters": size}

    def member(key, error, size, test=None, polished=None, details=None):
        own = {"key": key, "architecture": f"small({key})", "plan": plan, "values": values(error, size)}
        return own | {"details": details or {}, "test": test, "polished": polished}

    polished = {"values": {"error": 0.25}, "test": {"accuracy": 0.72, "f1": 0.6, "error": 0.28}}
    return ReportData(
        **RUN,
        title="tiny",
        settings={"model": "toy", "training": {"epochs": 3, "seeds": [1, 2]}, "limit": None},
        task=TASK,
        objectives=["error", "parameters<=90%"],
        shape={"layers": 2, "heads": 2, "units": 4},
        unpruned={"values": values(0.2, 1000), "test": {"accuracy": 0.75, "f1": 0.7, "error": 0.25}},
        trials=[
            trial(0, "a", values(0.5, 200)),
            trial(1, "b", {}, "failed", reason="the loss is NaN"),
            trial(2, "c", values(0.3, 400)),
            trial(3, "d", values(0.4, 600)),
            trial(4, "e", values(0.6, 100), asked=False),
            trial(5, "f", {}, "infeasible", reason="parameters 950 > 900"),
            trial(6, "g", {}, "running"),
        ],
        front=[
            member("c", 0.3, 400, {"accuracy": 0.6, "f1": 0.5, "error": 0.4}, polished, {"spread": 0.0123456, "turns": 3}),
            member("a", 0.5, 200, {"accuracy": 0.45, "f1": 0.4, "error": 0.55}),
            member("e", 0.6, 100),
        ],
        journal=[{"stage": "train", "status": "done", "seconds": 30.0}, {"stage": "search", "status": "done", "seconds": 10.0}],
        curves={"train": [{"step": 1, "loss": 0.9}, {"step": 2, "loss": math.nan}, {"step": 3, "loss": 0.4}]},
        importance={
            "heads": [[1.0, 3.0], [2.0, 0.0]],
            "units": [[1.0, 5.0, 2.0, 2.0], [0.0, 0.0, 0.0, 0.0]],
            "order_heads": [[1, 0], [0, 1]],
            "order_units": [[1, 2, 3, 0], [0, 1, 2, 3]],
        },
        load_code="secateur export runs/toy --key {key} --to toy-small",
    )


@pytest.fixture
def tiny() -> ReportData:
    return tiny_run()


@pytest.fixture
def tiny_design() -> DesignReportData:
    return tiny_design_run()


@pytest.fixture(scope="session")
def large_run() -> ReportData:
    """Trials in `medium` on a network of 6 layers, 384 wide. The numbers come from a formula, not from any measurement."""
    rng = np.random.default_rng(0)
    layers, heads, units = 6, 12, 1536

    def values(h, u):
        body = 384 * (4 * 384 * sum(h) / heads + 2 * sum(u))
        part = body / (384 * layers * (4 * 384 + 2 * units))
        costs = {"parameters": body + 11.9e6, "body_parameters": body, "macs": body * 128, "memory": 4 * body + 7e7}
        error = 0.15 + 0.5 * math.exp(-7 * part) + float(abs(rng.normal(0, 0.03)))
        return {"error": error, "latency": 0.0012 + 0.021 * part, **costs}

    def kept(full, count, as_set):
        return sorted(rng.choice(full, count, replace=False).tolist()) if as_set else count

    trials = []
    for number in range(60):
        there = rng.random(layers) < 0.6
        h, u = (rng.integers(0, heads + 1, layers) * there).tolist(), (rng.integers(1, units + 1, layers) * there).tolist()
        parts = {i: (kept(heads, h[i], number % 3 == 0), kept(units, u[i], number % 3 == 0)) for i in range(layers) if u[i]}
        plan = {"layers": [{"index": i, "heads": part[0], "units": part[1]} for i, part in parts.items()]}
        status = {5: "failed", 7: "infeasible"}.get(number, "complete")
        found = values(h, u) if status == "complete" else {}
        trials.append(trial(number, f"{number:016x}", found, status, number % 5 != 4, reason=status, plan=plan))
        trials[-1]["architecture"] = f"medium(heads={'·'.join(map(str, h))}, units={'·'.join(map(str, u))})"
    front = []
    for i, t in enumerate(on_the_front(trials, "error", "latency")):
        sets = [
            {"accuracy": 1 - error, "f1": 0.98 - error, "error": error} for error in (t["values"]["error"], 0.15 + i / 1000)
        ]
        polished = {"values": {"error": sets[1]["error"]}, "test": sets[1]} if i % 3 == 0 else None
        weights = "polished" if polished else "shared"
        gain = {"speedup": 0.0222 / t["values"]["latency"]} if i % 2 else {}  # some were not measured
        front.append(t | {"test": sets[0], "polished": polished, "weights": weights, "gain": gain})
    scores = {"heads": rng.gamma(0.6, size=(layers, heads)), "units": rng.gamma(0.4, size=(layers, units))}
    falling = [{"step": s, "loss": 0.5 + 0.9 * math.exp(-s / 300)} for s in range(10, 1010, 10)]
    return dataclasses.replace(
        tiny_run(),
        objectives=["error", "latency"],
        shape={"layers": layers, "heads": heads, "units": units},
        unpruned={**tiny_run().unpruned, "values": values([heads] * layers, [units] * layers)},
        trials=trials,
        front=front,
        curves={"warm-up": falling, "train": [*falling[:-1], {**falling[-1], "eval_loss": 0.6}], "polish": falling},
        importance={name: found.tolist() for name, found in scores.items()}
        | {f"order_{name}": np.argsort(-found, axis=1).tolist() for name, found in scores.items()},
    )


def tiny_design_run() -> DesignReportData:
    """A front of four and three baselines of proxies 100, 250 and 900, which the front's 800 do not reach."""

    def choices(layers, inner=128):
        sizes = {"heads": [2] * layers, "inner": [inner] * layers, "embedding": 32, "factor": 4}
        return {"backbone": "gpt2", "width": 64, **sizes}

    def values(proxy, latency, memory):
        return {"decoder_parameters": proxy, "latency": latency, "memory": memory}

    def member(key, proxy, latency, memory, predicted, measured=True):
        own = {"key": key, "architecture": f"decoder({key})", "choices": choices(2), "details": {"latency.spread": 0.02}}
        return own | {"values": values(proxy, latency, memory), "measured": measured, "predicted_latency": predicted}

    def baseline(layers, proxy, latency, memory):
        own = {"name": f"GPT-2 small, {layers} layers", "family": "GPT-2 small", "layers": layers, "key": f"base{layers}"}
        return own | {"choices": choices(layers, 256), "values": values(proxy, latency, memory)}

    front = [
        member("c", 400, 0.030, 3000, 0.033),
        member("a", 100, 0.010, 2000, 0.009),
        member("b", 300, 0.025, 1000, 0.025),
        member("d", 800, 0.020, 9000, 0.020, measured=False),
    ]
    return DesignReportData(
        **RUN,
        title="tiny design",
        settings={"space": {"layers": "2..3"}},
        objectives=["decoder_parameters>=50", "latency<=40ms", "memory"],
        trials=[
            *(trial(i, e["key"], e["values"], choices=choices(2)) for i, e in enumerate(front)),
            trial(4, "e", values(90, 0.04, 9500), choices=choices(2)),
            trial(5, "f", {}, "infeasible", reason="decoder_parameters 1 < 5", choices=choices(2)),
        ],
        front=front,
        journal=[
            {"stage": "search", "status": "done", "seconds": 90.0},
            {"stage": "report", "status": "running", "seconds": None},
        ],
        load_code="secateur train runs/toy --key {key} --text corpus.txt",
        baselines=[baseline(1, 100, 0.020, 4000), baseline(2, 250, 0.050, 2000), baseline(9, 900, 0.100, 20000)],
        latency_model={
            "mean_error": 0.04,
            "max_error": 0.1,
            "seconds": 30.0,
            "networks": 12,
            "points": [{"predicted": 0.011, "measured": 0.010}],
        },
    )


@pytest.fixture(scope="session")
def design_run() -> DesignReportData:
    """A search among decoders. The numbers come from a formula, not from any measurement."""
    rng = np.random.default_rng(0)

    def drawn(layers, width, waste):
        inner = rng.integers(1, 8, layers) * 512
        size = float(layers * 4 * width**2 + 2 * width * inner.sum())
        latency, memory = (0.004 + 0.0011 * layers + size * 0.75e-9) * (1 + waste), (5 * size + 4e7) * (1 + waste)
        sizes = {"heads": [4] * layers, "inner": inner.tolist(), "embedding": 0, "factor": 1}
        found = {"decoder_parameters": size, "latency": latency, "memory": memory, "parameters": size + 1e7, "macs": 128 * size}
        return {"choices": {"backbone": "gpt2", "width": width, **sizes}, "values": found}

    trials = [
        trial(number, f"{number:016x}", {}) | drawn(int(rng.integers(2, 17)), int(rng.integers(1, 9)) * 128, rng.gamma(2, 0.4))
        for number in range(400)
    ]
    trials[7] |= {"status": "infeasible", "values": {}, "reason": "latency 0.31 > 0.3"}
    front = []
    for i, t in enumerate(on_the_front(trials, "decoder_parameters", "latency", "memory")):
        predicted, measured = t["values"]["latency"], i < 20
        clock = predicted * float(rng.normal(1, 0.04)) if measured else predicted
        front.append(t | {"values": {**t["values"], "latency": clock}, "measured": measured, "predicted_latency": predicted})
    named = [
        {"name": f"GPT-2 small, {i} layers", "family": "GPT-2 small", "layers": i, "key": f"base{i}"} for i in range(1, 17)
    ]
    baselines = [row | drawn(row["layers"], 768, 0.3) for row in named]
    return dataclasses.replace(tiny_design_run(), trials=trials, front=front, baselines=baselines)


@pytest.fixture(scope="session")
def own_page():
    """A run's page without plotly.js, which holds addresses that it never visits here; `raw` leaves it as browsers get it."""

    def page(data, raw=False):
        text = render(data).replace(plotly_javascript(), "")
        return text if raw else html.unescape(text)

    return page
