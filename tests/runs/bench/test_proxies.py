"""`secateur proxies` on a table of tiny networks."""

from __future__ import annotations

import csv
import json
import math

import numpy as np
import pytest

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError, DataError, EvaluationFailure, UnknownNameError
from secateur.runs.bench.scoring import COUNTS, CUTS, LOW_COST, ScoreFile, partial_name, proxy_names
from secateur.spaces.decoder import architecture
from secateur.spaces.decoder_counts import decoder_parameters, macs, parameters
from secateur.spaces.decoder_sizes import Sizes
from secateur.tables import spearman
from secateur.verbs.proxies import proxies

pytestmark = pytest.mark.slow

VOCABULARY = 40
SIZES = Sizes(vocabulary=VOCABULARY)


def networks():
    shapes = [(8, 1), (8, 2), (16, 1), (16, 2), (16, 3), (24, 2)]
    return [architecture("gpt2", width, [2] * layers, [2 * width] * layers) for width, layers in shapes]


def record(network, perplexity, **more):
    row = {
        "architecture": network.to_json(),
        "source": "random",
        "seed": 0,
        "perplexity": perplexity,
        "latency": len(network.to_json()) / 1e3,
        "steps": [10, 50, 100],
        "curve": [4.0, 3.5 + perplexity / 100, math.log(perplexity)],
        "train_seconds": 8.0,
        "vocabulary": VOCABULARY,
        "batch": 4,
        "length": 8,
    }
    return {**row, **more}


def write(path, records):
    path.write_text("\n".join(json.dumps(r) for r in records), encoding="utf-8")
    return path


@pytest.fixture
def table(tmp_path):
    return write(tmp_path / "table.jsonl", [record(n, 60 - 5 * i) for i, n in enumerate(networks())])


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_proxies_named_are_all_there_are():
    from secateur.estimators.proxies import PROXIES

    assert set(PROXIES) == {*LOW_COST, *COUNTS}


def test_every_proxy_on_tiny_networks(table, tmp_path):
    found = proxies(table, to=tmp_path / "out", batch=4, length=8)
    names = proxy_names(())
    assert [row["proxy"] for row in found.table] == names
    assert len(names) == 13 + len(CUTS)
    scores = {(r["key"], r["proxy"]): r for r in rows_of(tmp_path / "out/scores.csv")}
    for network in networks():
        closed = {
            "decoder_parameters": decoder_parameters(network),
            "parameters": parameters(network, SIZES),
            "macs": macs(network, SIZES, 4, 8),
        }
        for name, value in closed.items():
            assert float(scores[network.key, name]["score"]) == value
        # The same as counted on the network itself.
        from secateur.decoders import build
        from secateur.estimators.proxies import score

        built = build(network, SIZES)
        assert score("decoder_parameters", built) == closed["decoder_parameters"]
        assert score("parameters", built) == closed["parameters"]
    for judged in found.judged:
        assert judged.networks + sum(judged.failures.values()) == 6, judged.name
        if judged.name in LOW_COST and judged.networks:
            assert judged.seconds > 0
            assert judged.counted > 0
    # Larger networks were given the lower perplexity, nearly in order of their parameters.
    true = np.array([60 - 5 * i for i in range(6)])
    expected = spearman(true, np.array([decoder_parameters(n) for n in networks()]))
    assert found["decoder_parameters"].overall.spearman == pytest.approx(expected)
    assert found["synflow"].flops > found["decoder_parameters"].flops == 0
    page = (tmp_path / "out/proxies.html").read_text(encoding="utf-8")
    assert page.count("data-figure=") == 2 + sum(j.networks > 0 for j in found.judged)
    assert "grad_norm" in page


def test_partial_training_reads_the_curves(table, tmp_path):
    found = proxies(table, to=tmp_path, proxy=["partial_training"], partial=[5, 10, 75, 100])
    late = found[partial_name(5)]  # the curves begin at a tenth of the steps
    assert late.networks == 0
    assert late.rankings == []
    assert list(late.failures.values()) == [6]
    assert "begins at step 10 of 100" in next(iter(late.failures))
    assert found["partial_10%"].overall.spearman is None  # all alike there
    assert found["partial_100%"].overall.spearman == pytest.approx(1)
    scores = {(r["key"], r["proxy"]): r for r in rows_of(tmp_path / "scores.csv")}
    first = networks()[0]
    row = scores[first.key, "partial_75%"]
    assert float(row["score"]) == pytest.approx(-(3.5 + 0.6 + math.log(60)) / 2)
    assert float(row["seconds"]) == pytest.approx(6.0)
    forward = 2 * macs(first, SIZES, 1, 8) / 8
    assert float(row["flops"]) == pytest.approx(3 * forward * 4 * 8 * 100 * 0.75)
    assert "no score for 6 of 6 networks" in str(found)
    assert scores[first.key, "partial_5%"]["score"] == ""


def test_scores_are_kept_and_used_again(table, tmp_path, monkeypatch):
    options = {"proxy": ["l2_norm", "decoder_parameters"], "batch": 2, "length": 4}
    first = proxies(table, to=tmp_path / "out", **options)
    path = tmp_path / "out/scores.csv"
    before = path.read_text()
    # A crash in the middle of a line loses that line only.
    path.write_text(before[: before.rindex("l2_norm") + 12])
    import secateur.estimators.proxies as low_cost

    asked = []
    real = low_cost.score
    monkeypatch.setattr(low_cost, "score", lambda name, *a, **k: asked.append(name) or real(name, *a, **k))
    again = proxies(table, to=tmp_path / "out", **options)
    assert asked == ["l2_norm"]
    assert [r["spearman"] for r in again.table] == [r["spearman"] for r in first.table]
    # Other settings are other scores.
    proxies(table, to=tmp_path / "out", proxy=["l2_norm"], batch=2, length=4, seed=1)
    assert len(asked) == 7


def test_flops_are_of_the_same_networks_whatever_was_scored_before(table, tmp_path):
    options = {"to": tmp_path / "out", "proxy": ["decoder_macs"], "batch": 2, "length": 4}
    rows = [json.loads(line) for line in table.read_text(encoding="utf-8").splitlines()]
    proxies(write(tmp_path / "smaller.jsonl", rows[:5]), **options)  # all five are counted
    found = proxies(table, **options)["decoder_macs"]
    # Of six in order of their size all but the fourth: 2 per multiply-accumulate, 8 tokens, attention over 4 positions.
    shapes = [(8, 1), (8, 2), (16, 1), (16, 3), (24, 2)]
    by_hand = [2 * 8 * layers * (4 * w * w + 2 * w * 4 + 2 * w * 2 * w) for w, layers in shapes]
    assert (found.flops, found.counted) == (sum(by_hand) / 5, 5)


def test_a_failing_proxy_is_reported_not_ranked(table, tmp_path, monkeypatch):
    import secateur.estimators.proxies as low_cost

    bad = {networks()[0].key: EvaluationFailure("`grasp` is nan:\nno."), networks()[1].key: RuntimeError("too large")}
    calls = iter(networks())

    def fails(name, *_args, **_options):
        key = next(calls).key
        if key in bad:
            raise bad[key]
        return float(int(key, 16) % 97)

    monkeypatch.setattr(low_cost, "score", fails)
    monkeypatch.setattr(low_cost, "cost", lambda *a, **k: low_cost.Cost(10, 0.1))
    found = proxies(table, to=tmp_path, proxy=["grasp"])
    assert found["grasp"].networks == 4
    assert found["grasp"].failures == {"`grasp` is nan:": 1, "RuntimeError: too large": 1}
    assert found.table[0]["failed"] == 2
    assert "grasp: no score for 2 of 6 networks: `grasp` is nan: (and 1 other reasons: see proxies.csv)" in str(found)
    assert found.table[0]["reason"] == "1 × `grasp` is nan:; 1 × RuntimeError: too large"
    known = ScoreFile(tmp_path / "scores.csv")
    assert sum(s.score is None for s in known._known.values()) == 2


def test_fronts_where_there_is_a_latency(table, tmp_path):
    found = proxies(table, to=tmp_path, proxy=["decoder_parameters"])
    front = found["decoder_parameters"].fronts["latency"]
    assert 0 < front.found <= 1
    assert "memory" not in found["decoder_parameters"].fronts
    assert rows_of(tmp_path / "fronts.csv")[0]["cost"] == "latency"
    assert "front found (latency)" in str(found)
    assert [r["share"] for r in rows_of(tmp_path / "ranking.csv")][:2] == ["0.1", "0.2"]
    bare = [{k: v for k, v in record(n, 9.0 + i).items() if k != "latency"} for i, n in enumerate(networks())]
    without = proxies(write(tmp_path / "bare.jsonl", bare), to=tmp_path, proxy=["decoder_parameters"])
    assert without["decoder_parameters"].fronts == {}
    assert not (tmp_path / "fronts.csv").exists()


def test_sources_repeats_and_the_ceiling(tmp_path):
    records = [record(n, 60 - 5 * i) for i, n in enumerate(networks())]
    records += [record(n, 61 - 5 * i, seed=1) for i, n in enumerate(networks()[:4])]
    records += [record(networks()[0], 30.0, source="search")]
    table = write(tmp_path / "t.jsonl", records)
    found = proxies(table, to=tmp_path / "a", proxy=["decoder_parameters"], source=["random"])
    assert found["decoder_parameters"].networks == 6
    assert (found.ceiling.pairs, found.ceiling.spearman) == (4, pytest.approx(1))
    assert "4 architectures trained twice rank with Spearman 1.000" in str(found)
    with pytest.raises(DataError, match="no rows of source `homogeneous`; it has: random, search"):
        proxies(table, to=tmp_path / "a", source=["homogeneous"])


def test_real_text(table, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("\n".join(f"the cat number {i} sat on mat {i % 7}" for i in range(400)), encoding="utf-8")
    options = {"proxy": ["grad_norm"], "batch": 2, "length": 8, "vocabulary": 300, "text": str(text)}
    found = proxies(table, to=tmp_path / "out", **options)
    assert found["grad_norm"].networks == 6
    assert "Proxies see 2 texts of 8 tokens" in str(found)
    random = proxies(table, to=tmp_path / "out", **{**options, "text": None})
    assert "Proxies see random tokens" in str(random)
    assert len({r["score"] for r in rows_of(tmp_path / "out/scores.csv")}) == 12  # six networks on two batches
    with pytest.raises(DataError, match="fewer than one text of 100000"):
        proxies(table, to=tmp_path / "out", **{**options, "length": 100_000})


def test_settings_that_cannot_be(table, tmp_path):
    with pytest.raises(UnknownNameError, match="Did you mean `synflow`"):
        proxies(table, to=tmp_path, proxy=["sinflow"])
    with pytest.raises(ConfigurationError, match="`partial` must be above 0 and at most 100, got 120"):
        proxies(table, to=tmp_path, partial=[120])
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(ConfigurationError) as caught:
        proxies(table, to=file, batch=1, length=0, tokenizer="x", vocabulary=0, seed=-1)
    assert len(caught.value.faults) == 6
    assert "`vocabulary` must be at least 2 and at most 10,000,000, got 0." in caught.value.faults
    assert "`seed` must be at least 0 and below 4,294,967,296, got -1." in caught.value.faults
    with pytest.raises(ConfigurationError, match=r"`to` cannot be written: .*: not a directory"):
        proxies(table, to=file / "below", proxy=["decoder_parameters"])


def test_paths_as_strings_and_progress(table, tmp_path, capsys):
    found = proxies(str(table), to=str(tmp_path / "out"), proxy=["decoder_parameters"])
    assert found.folder == tmp_path / "out"
    assert "6 of 6" in capsys.readouterr().err
    proxies(table, to=tmp_path / "quiet", proxy=["decoder_parameters"], progress=False)
    assert capsys.readouterr().err == ""


def test_what_was_found_is_printed_where_it_cannot_be_written(table, tmp_path, monkeypatch, capsys):
    (tmp_path / "out" / "ranking.csv").mkdir(parents=True)
    with pytest.raises(ConfigurationError, match=r"is a directory\. The results are printed instead"):
        proxies(table, to=tmp_path / "out", proxy=["decoder_parameters"], progress=False)
    shown = capsys.readouterr().out
    assert "decoder_parameters" in shown
    assert "Written" not in shown

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ScoreFile, "add", full)
    with pytest.raises(ConfigurationError, match=r"no space left on device\. What was scored is in scores\.csv"):
        proxies(table, to=tmp_path / "full", proxy=["decoder_parameters"], progress=False)


def test_tables_that_do_not_say_enough(tmp_path):
    bare = [{k: v for k, v in record(n, 9.0 + i).items() if k != "vocabulary"} for i, n in enumerate(networks())]
    table = write(tmp_path / "t.jsonl", bare)
    with pytest.raises(ConfigurationError, match="`vocabulary` must be given"):
        proxies(table, to=tmp_path, proxy=["macs"])
    text = tmp_path / "text.txt"
    text.write_text("some words " * 200, encoding="utf-8")
    with pytest.raises(ConfigurationError, match="`vocabulary` must be given"):
        proxies(table, to=tmp_path, proxy=["snip"], text=str(text))
    assert proxies(table, to=tmp_path, proxy=["macs"], vocabulary=50)["macs"].networks == 6
    assert proxies(table, to=tmp_path, proxy=["partial_training"])["partial_60%"].flops is None
    mixed = [record(n, 9.0 + i, vocabulary=40 + i) for i, n in enumerate(networks())]
    with pytest.raises(DataError, match="`vocabulary` must be the same whole number in all rows"):
        proxies(write(tmp_path / "m.jsonl", mixed), to=tmp_path)
    other = [record(Architecture.of("toy", {"x": i}, f"k{i}"), 9.0 + i) for i in range(4)]
    toys = write(tmp_path / "o.jsonl", other)
    with pytest.raises(
        ConfigurationError, match="`decoder_parameters` needs architectures from the space `decoder`, got one from `toy`"
    ):
        proxies(toys, to=tmp_path, proxy=["decoder_parameters"])
    assert proxies(toys, to=tmp_path, proxy=["partial_training"], partial=[100])["partial_100%"].networks == 4


def test_cutoffs_of_the_table(tmp_path):
    network = architecture("gpt2", 16, [2], [32], embedding=16, factor=2)
    table = write(tmp_path / "t.jsonl", [record(network, 9.0, cutoffs=[10])])
    proxies(table, to=tmp_path, proxy=["parameters"])
    assert float(rows_of(tmp_path / "scores.csv")[0]["score"]) == parameters(
        network, Sizes(vocabulary=VOCABULARY, cutoffs=(10,))
    )
    with pytest.raises(DataError, match="`cutoffs` must be a list of whole numbers"):
        proxies(write(tmp_path / "b.jsonl", [record(network, 9.0, cutoffs="x")]), to=tmp_path, proxy=["parameters"])
