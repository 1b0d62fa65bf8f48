"""The benchmark's script at toy size: nothing is trained twice, nothing is lost, and the table holds what was trained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from secateur.architecture import Architecture
from secateur.errors import EvaluationFailure
from secateur.spaces.decoder import Decoder, architecture

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SMALL = ["--vocabulary", "260", "--length", "8", "--batch", "2", "--steps", "8", "--curve-tokens", "40", "--final-tokens", "80"]


@pytest.fixture(scope="module")
def benchmark(load_recipe: Any) -> Any:
    return load_recipe("design/benchmark.py")


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("text")
    for name in ("train", "valid", "test"):
        (folder / f"{name}.txt").write_text("the cat sat on the mat\nand the dog sat on the log\n" * 40, encoding="utf-8")
    return folder


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in sorted(folder.glob("rows-*")) for line in file.read_text().splitlines()]


def test_from_nothing_to_a_table(benchmark: Any, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = {"layers": "1..2", "width": "8..16:8", "inner": "32..64:32", "heads": (2,), "embedding": (0, 4), "factor": (1, 2)}
    monkeypatch.setitem(benchmark.SPACES, "small", small)
    out = tmp_path / "work"
    given = ["train", "--text", str(text), "--out", str(out), "--cutoffs", "100", *SMALL]
    given += ["--count", "4", "--repeat", "2", "--homogeneous", "1"]
    jobs = benchmark.random_jobs("gpt2", 4, 2, 1)
    with benchmark.claimed(out / "claims" / f"{jobs[1].architecture.key}-0") as free:  # another process is at it
        assert free
        benchmark.main(given)
        assert [benchmark.name_of(row) for row in lines(out)] == [job.name for job in jobs if job is not jobs[1]]
    benchmark.main(given)
    rows = lines(out)
    assert sorted(benchmark.name_of(row) for row in rows) == sorted(job.name for job in jobs)
    others = tmp_path / "others"
    benchmark.main([*given[:4], str(others), *given[5:], "--at-once", "2"])
    assert {benchmark.name_of(row) for row in lines(others)} == {job.name for job in jobs}
    wanted = {benchmark.name_of(row): row for row in rows}
    for row in lines(others):
        assert row["curve"] == pytest.approx(wanted[benchmark.name_of(row)]["curve"], abs=1e-3)
        assert row["perplexity"] == pytest.approx(wanted[benchmark.name_of(row)]["perplexity"], rel=1e-3)
    torn = max(out.glob("rows-*"), key=lambda file: file.stat().st_size)  # a process died while it wrote its last line
    torn.write_text(torn.read_text()[:-20])
    benchmark.main(given)

    def told(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        timed = ("train_seconds", "cpu_seconds")
        return sorted(({k: v for k, v in row.items() if k not in timed} for row in found), key=str)

    assert told(benchmark.rows_of(out)) == told(rows)
    listed = tmp_path / "list.jsonl"
    other = architecture("gpt2", 16, [4], [48])
    listed.write_text(json.dumps({"architecture": other.as_dict(), "source": "topology"}) + "\n\n")
    benchmark.main([*given, "--list", str(listed)])

    with listed.open("a") as more:  # a member of a front that random sampling had found
        more.write(json.dumps({"architecture": rows[0]["architecture"], "source": "search"}) + "\n")
    monkeypatch.setattr(benchmark.time, "process_time", lambda: 1 / 0)  # nothing is left to train
    for _ in range(2):
        benchmark.main([*given, "--list", str(listed)])
    monkeypatch.undo()
    assert [row for row in benchmark.rows_of(out) if row["source"] == "search"] == [{**rows[0], "source": "search"}]
    benchmark.main(["latency", "--out", str(out), "--seconds", "0.05"])
    benchmark.main(["merge", "--out", str(out), "--to", str(tmp_path / "table.parquet")])
    table = pd.read_parquet(tmp_path / "table.parquet")
    assert len(table) == 9
    assert set(table["source"]) == {"random", "homogeneous", "topology", "search"}
    assert (table["latency"] > 0).all()
    for row in table.to_dict("records"):
        found = Architecture.from_json(row["architecture"])
        network = benchmark.Protocol(vocabulary=260, cutoffs=(100,), length=8).build(found, 0)
        assert row["parameters"] == sum(p.numel() for p in network.parameters())
        assert row["decoder_parameters"] == sum(p.numel() for m in network.decoder_modules() for p in m.parameters())
        assert list(row["steps"]) == list(range(1, 9))
        assert len(row["curve"]) == len(row["train_curve"]) == 8
        assert 1 < row["perplexity"] < 10_000
        assert row["tokens_per_step"] == 14
        assert row["learning_rate"] == pytest.approx(5e-3 * 128 / found["width"])
    with pytest.raises(SystemExit, match="another protocol"):
        benchmark.main([*given, "--learning-rate", "0.5"])


def test_a_network_that_diverges_is_no_row(benchmark: Any, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any) -> None:
        raise EvaluationFailure("training diverged at step 3")

    monkeypatch.setattr(benchmark, "train_one", fail)
    listed = tmp_path / "list.jsonl"
    listed.write_text(json.dumps({"architecture": architecture("gpt2", 16, [4], [48]).to_json(), "source": "baseline"}))
    benchmark.main(["train", "--text", str(text), "--out", str(tmp_path), "--list", str(listed), "--cutoffs", "100", *SMALL])
    assert benchmark.rows_of(tmp_path) == []
    assert [row["failure"] for row in benchmark.rows_of(tmp_path, "failed")] == ["training diverged at step 3"]
    listed.write_text(listed.read_text().replace("baseline", "search"))
    benchmark.main(["train", "--text", str(text), "--out", str(tmp_path), "--list", str(listed), "--cutoffs", "100", *SMALL])
    assert {row["source"] for row in benchmark.rows_of(tmp_path, "failed")} == {"baseline", "search"}
    assert benchmark.rows_of(tmp_path) == []
    with pytest.raises(SystemExit, match="holds no finished networks"):
        benchmark.main(["merge", "--out", str(tmp_path), "--to", str(tmp_path / "t.parquet")])


def test_the_rate_follows_the_width_and_dropout_is_built_in(benchmark: Any) -> None:
    protocol = benchmark.Protocol(learning_rate=1e-3, reference_width=32, dropout=0.25)
    rates = {width: protocol.training(architecture("gpt2", width, [2], [128]), 7).learning_rate for width in (16, 32, 64)}
    assert rates == {16: 2e-3, 32: 1e-3, 64: 5e-4}
    assert protocol.build(architecture("gpt2", 16, [2], [32]), 0).config.dropout == 0.25


def test_the_jobs(benchmark: Any, tmp_path: Path) -> None:
    jobs = benchmark.random_jobs("gpt2", 150, 15, 40)
    assert [job.source for job in jobs] == ["random"] * 165 + ["homogeneous"] * 40
    assert len({job.name for job in jobs}) == 205
    assert len({job.architecture.key for job in jobs}) == 190
    space = Decoder("gpt2", **benchmark.SPACES["small"])
    assert all(space.contains(job.architecture) for job in jobs)
    assert [job.seed for job in jobs] == [0] * 150 + [1] * 15 + [0] * 40
    assert benchmark.random_jobs("gpt2", 150, 15, 40) == jobs
    more = benchmark.random_jobs("gpt2", 400, 40, 0, seeds=5)  # what was trained before is among them
    assert {job.name for job in jobs if job.source == "random"} <= {job.name for job in more}
    assert [job.seed for job in more].count(4) == 40
    assert len({job.name for job in more}) == len(more) == 400 + 4 * 40
    few = benchmark.random_jobs("gpt2", 4, 15, 0)  # no more can be repeated than there are
    assert len({job.name for job in few}) == len(few) == 8
    assert benchmark.random_jobs("gpt2", 0, 15, 0) == []
    tiny = Decoder("gpt2", **benchmark.SPACES["tiny"])
    assert all(tiny.contains(job.architecture) for job in benchmark.random_jobs("gpt2", 20, 0, 0, space="tiny"))
    (tmp_path / "bad.jsonl").write_text('{"source": "topology"}\n')
    with pytest.raises(SystemExit, match="line 1 is not an architecture"):
        benchmark.main(
            ["train", "--text", str(ROOT / "README.md"), "--out", str(tmp_path), "--list", str(tmp_path / "bad.jsonl")]
        )
    with pytest.raises(SystemExit, match=r"it has no protocol\.json"):
        benchmark.main(["latency", "--out", str(tmp_path / "nowhere")])


def test_what_is_not_given_is_as_the_protocol_says(benchmark: Any) -> None:
    given = ["train", "--text", "a.txt", "--out", "b"]
    assert benchmark._arguments(given)[1] == benchmark.Protocol()
    tiny = benchmark._arguments([*given, "--protocol", "shakespeare", "--steps", "7", "--cutoffs"])[1]
    assert (tiny.space, tiny.length, tiny.steps, tiny.cutoffs) == ("tiny", 32, 7, ())


def test_stretches_are_spread_over_the_text(benchmark: Any) -> None:
    tokens = np.arange(1000, dtype=np.int32)
    found = benchmark.stretches(tokens, 160)
    assert len(found) == 160
    assert found[0] == 0
    assert found[-1] == 999
    assert benchmark.stretches(tokens, 5000) is tokens
