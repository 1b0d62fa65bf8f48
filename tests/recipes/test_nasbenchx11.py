"""The recipe of learning curves: its page is computed from its tables, and its text says what they say."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import kendalltau

from secateur.architecture import Architecture
from secateur.tables.opening import open_table
from secateur.trial import Status, Trial

FOLDER = Path(__file__).resolve().parents[2] / "recipes" / "nasbenchx11"


def rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_page_has_the_tables_of_the_files(load_recipe: Any) -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    tables = load_recipe("nasbenchx11/tables.py")
    assert tables.filled(page) == page
    assert all(f"<!-- {name} -->" in page for name in tables.TABLES)


def test_what_was_chosen_was_chosen_elsewhere(load_recipe: Any) -> None:
    recipe = load_recipe("nasbenchx11/search.py")
    assert recipe.keep() == 0.5
    assert {row["searcher"].rpartition("/")[2] for row in rows("search.csv") if "+" in row["searcher"]} == {"0.5"}
    assert not {row["table"] for row in rows("search.csv")} & {"nb101-surrogate"}
    stopped = {(r["searcher"], r["simulated_seconds"]): float(r["regret"]) for r in rows("tuning.csv")}
    late = {name: regret for (name, seconds), regret in stopped.items() if seconds == "100000"}
    for plain in recipe.PLAIN:
        assert min(late[f"{plain}+svr:0.11/{keep}"] for keep in recipe.KEEPS) > 0.9 * late[plain]


def test_what_the_text_says_of_searches() -> None:
    found = {(r["searcher"], r["share"]): float(r["regret"]) for r in rows("search.csv") if r["table"] == "trained"}
    assert len({searcher for searcher, _ in found}) == 13
    corrected = {(r["first"], r["second"]): float(r["corrected"]) for r in rows("pairs.csv") if r["table"] == "trained"}
    assert len(corrected) == 78
    plain = ("local", "mo-rea:20/10", "bananas")
    told = {}
    for way in ("svr", "wpm"):
        saved = {at: [1 - found[f"{one}+{way}:0.2/0.5", at] / found[one, at] for one in plain] for at in ("0.25", "0.5", "1")}
        told[way] = [round(100 * f(saved[at])) for at in ("0.5", "1") for f in (min, max)]
        assert 0.19 < min(saved["0.25"][:2]) < max(saved["0.25"][:2]) < 0.25
        assert saved["0.25"][2] < 0
    assert told == {"svr": [15, 39, 59, 68], "wpm": [20, 31, 53, 83]}
    ways = ("", "+svr:0.2/0.5", "+wpm:0.2/0.5")
    ends = {one: [round(found[f"{one}{way}", "1"], 4) for way in ways] for one in plain}
    assert ends == {
        "local": [0.0051, 0.0020, 0.0020],
        "mo-rea:20/10": [0.0041, 0.0017, 0.0019],
        "bananas": [0.0014, 0.0005, 0.0003],
    }
    sure = [[round(corrected[one, f"{one}{way}"], 2) for way in ways[1:]] for one in plain]
    assert sure == [[0.01, 0.01], [0.38, 0.64], [1, 1]]
    assert min(found, key=lambda key: (key[1] != "1", found[key])) == ("bananas+wpm:0.2/0.5", "1")
    assert found["hyperband", "0.25"] == min(regret for (_, share), regret in found.items() if share == "0.25")
    assert found["bohb", "1"] == pytest.approx(found["bananas", "1"], abs=0.0002)
    assert round(found["local+gp:0.2/0.5", "1"], 4) == 0.0025
    literal = {(r["searcher"], r["share"]): float(r["regret"]) for r in rows("literal.csv")}
    assert [round(literal[f"{one}+wpm:0.2/0.5", "1"], 4) for one in plain[:2]] == [0.0099, 0.0074]
    assert all(literal[one, "1"] == found[one, "1"] < literal[f"{one}+wpm:0.2/0.5", "1"] for one in plain[:2])


def test_what_the_text_says_of_searches_on_the_surrogate() -> None:
    found = {(r["searcher"], r["share"]): float(r["regret"]) for r in rows("search.csv") if r["table"] == "surrogate"}
    first = {name: regret for (name, share), regret in found.items() if share == "0.25"}
    assert all(2 * first["local"] < regret for name, regret in first.items() if not name.startswith("local"))
    assert all(abs(found[f"local{one}", "1"] - found["local", "1"]) < 0.001 for one in ("+svr:0.2/0.5", "+gp:0.2/0.5"))
    assert (round(found["mo-rea:20/10", "1"], 4), round(found["mo-rea:20/10+svr:0.2/0.5", "1"], 4)) == (0.0314, 0.0233)
    corrected = {(r["first"], r["second"]): float(r["corrected"]) for r in rows("pairs.csv") if r["table"] == "surrogate"}
    assert round(corrected["mo-rea:20/10", "mo-rea:20/10+svr:0.2/0.5"], 2) == 0.06
    assert found["hyperband", "1"] == pytest.approx(found["mo-rea:20/10+svr:0.2/0.5", "1"], abs=0.001)


def test_what_the_text_says_of_when_to_extrapolate() -> None:
    found = {(r["table"], r["searcher"], r["share"]): float(r["regret"]) for r in rows("few.csv")}
    for at in ("0.25", "0.5", "1"):
        for plain in ("local", "mo-rea:20/10"):
            early = [found["trained", f"{plain}+svr:{few}/0.5", at] for few in ("0.05", "0.1", "0.2")]
            late = found["trained", f"{plain}+svr:0.4/0.5", at]
            assert max(early) < min(late, found["trained", plain, at])
        evolution = [found["surrogate", f"mo-rea:20/10+svr:{few}/0.5", at] for few in ("0.05", "0.1", "0.2", "0.4")]
        assert max(evolution) < found["surrogate", "mo-rea:20/10", at]
    ends = {row["searcher"]: row for row in rows("few.csv") if (row["table"], row["share"]) == ("trained", "1")}
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    for plain, best in (("local", "0.1"), ("mo-rea:20/10", "0.05")):
        looks = [ends[f"{plain}+svr:{few}/0.5"] for few in (best, "0.05", "0.1", "0.2", "0.4")]
        assert min(looks, key=lambda row: float(row["regret"])) == looks[0]
        for row in (looks[0], looks[3]):
            assert f"{float(row['regret']):.4f} ± {float(row['regret_error']):.4f}" in text


def test_what_the_text_says_of_real_trainings() -> None:
    found = {(r["objectives"], r["searcher"]): float(r["regret"]) for r in rows("standard.csv")}
    one, both = "error", "error body_parameters"
    for way, saved in (("last", [0.40, 0.15]), ("wpm", [0.32, 0.11])):
        assert [round(1 - found[kind, f"random+{way}:0.2/0.3"] / found[kind, "random"], 2) for kind in (one, both)] == saved
    for objectives in (one, both):
        mine = {name: regret for (kind, name), regret in found.items() if kind == objectives}
        assert min(mine, key=mine.__getitem__) == "random+last:0.2/0.3"
        assert min(r for name, r in mine.items() if "+svr" in name or "+gp" in name) > 0.98 * mine["random"]
    table = open_table(str(FOLDER / "standard.parquet")).table
    assert len(table) == 48
    curves = table.curves["error"]
    told = [kendalltau(curves[:, place], curves[:, -1]).statistic for place in (1, 3)]
    assert [round(value, 2) for value in told] == [0.50, 0.81]


def test_what_the_text_says_of_models() -> None:
    mine = [row for row in rows("surrogates.csv") if row["table"] == "curves-wikitext2"]
    found = {(row["compressor"], row["regressor"], row["noise"]): row for row in mine}
    assert len(found) == 2 * 3 * 4
    for compressor in ("svd", "vae"):
        r2 = {regressor: float(found[compressor, regressor, "kde"]["r2"]) for regressor in ("lgb", "xgb", "mlp")}
        told = {"svd": [0.988, 0.987, 0.938], "vae": [0.980, 0.984, 0.937]}
        assert [round(value, 3) for value in r2.values()] == told[compressor]
        for regressor in r2:
            mine = {noise: float(found[compressor, regressor, noise]["kl_final"]) for noise in ("kde", "deviation", "window")}
            assert (min(mine, key=mine.__getitem__) == "kde") == (compressor == "vae" or regressor == "mlp")
            told = {n: float(found[compressor, regressor, n]["kl"]) for n in ("kde", "deviation", "window", "seeds")}
            assert min(told, key=told.__getitem__) == "seeds"
            own = {noise: kl for noise, kl in told.items() if noise != "seeds"}
            assert (min(own, key=own.__getitem__) == "window") == (compressor == "svd")
    assert [round(float(found["svd", "lgb", noise]["kl"]), place) for noise, place in (("kde", 0), ("seeds", 1))] == [244, 1.5]
    assert round(float(found["svd", "lgb", "seeds"]["kl_final"]), 1) == 1.1
    assert [round(100 * float(found["svd", "lgb", noise]["within"])) for noise in ("seeds", "kde")] == [64, 24]
    numbers = [float(row["components"]) for row in found.values()]
    assert 4.5 < min(numbers) < max(numbers) < 9.5
    table = open_table("curves-wikitext2").table
    assert {row["networks"] for row in found.values()} == {str(table.distinct)}
    (repeated,) = {row["repeated"] for row in found.values()}
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert f"{len(table)} trainings of {table.distinct} GPT-2 decoders" in text
    assert f"{repeated} networks were trained with five seeds" in text


def test_what_the_text_says_of_extrapolators() -> None:
    mine = [row for row in rows("extrapolators.csv") if row["table"] == "curves-wikitext2"]
    by = {(r["extrapolator"], r["share"], r["train"]): float(r["kendall"]) for r in mine}
    assert [round(by[name, "0.2", "20"], 2) for name in ("svr", "wpm", "last")] == [0.83, 0.77, 0.61]
    assert round(by["svr", "0.2", "100"], 2) == 0.89
    assert [round(by["gp", share, "100"], 2) for share in ("0.1", "0.2")] == [0.91, 0.92]
    assert all(by["gp", share, train] > by["svr", share, train] for share in ("0.1", "0.2", "0.4") for train in ("50", "100"))
    assert all(by["gp", share, "20"] == pytest.approx(by["svr", share, "20"], abs=0.01) for share in ("0.1", "0.2", "0.4"))
    assert [round(by[name, "0.1", "20"], 2) for name in ("wpm", "last")] == [0.44, 0.49]
    within = {(r["extrapolator"], r["share"]): float(r["within_1"]) for r in mine}
    assert within["wpm", "0.2"] < 0.1
    assert 0.35 < within["wpm", "0.4"] < 0.5
    other = {(r["extrapolator"], r["share"], r["train"]): float(r["kendall"]) for r in rows("nlp-extrapolators.csv")}
    assert other["gp", "0.2", "100"] < other["last", "0.2", "100"] < other["svr", "0.2", "100"]
    assert (round(other["last", "0.2", "20"], 2), round(other["svr", "0.2", "100"], 2)) == (0.83, 0.86)


def test_what_two_real_runs_took(load_recipe: Any) -> None:
    """Candidates 0 and 1 are begun; 1 is stopped, and 0 goes on after 2 was begun."""
    recipe = load_recipe("nasbenchx11/standard.py")

    def trial(number: int, budget: float | None, error: float, continues: int | None = None) -> Trial:
        values, name = {"error": error, "body_parameters": 10.0 * number}, f"key{number}"
        architecture = Architecture.of("toy", {}, name)
        return Trial(number, architecture, Status.COMPLETE, values=values, budget=budget, continues=continues, seconds=1.0)

    stops = [trial(0, 0.6, 0.5), trial(1, 0.6, 0.9), trial(2, 0.6, 0.4), trial(3, 3.0, 0.3, continues=0)]
    found = list(recipe.done(stops, 3))
    assert [one["candidate"] for one in found] == [0, 1, 2, 0]
    assert [one["epochs"] for one in found] == pytest.approx([0.6, 0.6, 0.6, 2.4])
    assert found[-1]["epochs so far"] == pytest.approx(4.2)
    assert [one["error"] for one in found] == [None, None, None, 0.3]
    row = recipe._summary(found, 100.0)
    assert (row["candidates"], row["whole trainings"], row["error, 30%"]) == (3, 1, 0.3)
    (whole,) = recipe.done([trial(0, None, 0.2)], 3)  # a run that does not stop has no budgets
    assert (whole["epochs"], whole["error"]) == (3.0, 0.2)


def test_what_the_text_says_of_tiny_decoders() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    models = [row for row in rows("surrogates.csv") if row["table"] == "curves-shakespeare"]
    kl = {(r["compressor"], r["regressor"], r["noise"]): (float(r["kl"]), float(r["kl_final"])) for r in models}
    assert len(kl) == 2 * 3 * 4
    assert {(row["networks"], row["repeated"]) for row in models} == {("600", "40")}
    for (compressor, regressor, noise), (mean, last) in kl.items():
        if noise == "seeds":
            assert 0.35 < min(mean, last) < max(mean, last) < 0.55
        else:
            assert min(mean, last) > 8
            assert last >= kl[compressor, regressor, "kde"][1]
    assert max(kl[key][0] for key in kl if key[2] == "kde") < 57
    inside = {noise: [round(100 * float(r["within"])) for r in models if r["noise"] == noise] for noise in ("seeds", "kde")}
    assert [f(inside[noise]) for noise in ("seeds", "kde") for f in (min, max)] == [87, 89, 23, 46]
    r2 = [(float(row["r2"]), float(row["r2_final"])) for row in models]
    assert [round(f(v[place] for v in r2), 2) for place in (0, 1) for f in (min, max)] == [0.59, 0.66, 0.80, 0.82]
    mine = [row for row in rows("extrapolators.csv") if row["table"] == "curves-shakespeare"]
    tau = {(r["extrapolator"], r["share"], r["train"]): float(r["kendall"]) for r in mine}
    told = [f"{tau[name, '0.2', train]:.2f}" for train in ("20", "100") for name in ("last", "svr", "gp")]
    assert told == ["0.56", "0.74", "0.77", "0.56", "0.82", "0.83"]
    assert all(abs(tau["gp", share, "100"] - tau["svr", share, "100"]) < 0.02 for share in ("0.1", "0.2", "0.4"))
    assert [f"{tau['wpm', share, '20']:.2f}" for share in ("0.1", "0.2", "0.4")] == ["0.24", "0.64", "0.55"]
    assert [tau["wpm", share, "20"] > tau["last", share, "20"] for share in ("0.1", "0.2", "0.4")] == [False, True, False]
    found = {(r["searcher"], r["share"]): float(r["regret"]) for r in rows("search.csv") if r["table"] == "tiny"}
    corrected = {(r["first"], r["second"]): float(r["corrected"]) for r in rows("pairs.csv") if r["table"] == "tiny"}
    for plain, better in (*((one, way) for one in ("mo-rea:20/10", "local") for way in ("svr", "wpm")), ("local", "gp")):
        stops = f"{plain}+{better}:0.2/0.5"
        assert found[stops, "1"] < found[plain, "1"]
        said = {"svr": "LcSVR", "wpm": "WPM", "gp": "a Gaussian process"}[better]
        assert f"{found[stops, '1']:.4f} with {said} (p = {corrected[plain, stops]:.2f}" in text
    halfway = [round(found[one, "0.5"], 4) for one in ("bananas", "bananas+svr:0.2/0.5", "bananas+wpm:0.2/0.5")]
    assert halfway == [0.0015, 0.0006, 0.0010]
    assert all(corrected["bananas", f"bananas+{way}:0.2/0.5"] == 1 for way in ("svr", "wpm"))
    assert min((regret, name) for (name, at), regret in found.items() if at == "0.25")[1] == "bohb"


def test_what_the_text_says_of_two_real_runs() -> None:
    found = {(row["task"], row["examples"], row["stopping"]): row for row in rows("real.csv")}
    told = {  # candidates stopped, the share of epochs saved, the lowest error without and with stops
        ("sst2", "1500"): (11, 0.37, 0.1425, 0.1425),
        ("stsb", "1500"): (9, 0.30, 0.397, 0.414),
        ("stsb", "640"): (7, 0.23, 0.750, 0.765),
        ("sst2", "640"): (0, 0.0, 0.18, 0.18),
    }
    for which, (stopped, saved, best, left) in told.items():
        whole, early, on = (found[*which, way] for way in ("none", "last", "last, as many epochs"))
        assert (whole["candidates"], early["candidates"]) == ("24", "24")
        assert int(early["candidates"]) - int(early["whole trainings"]) == stopped
        assert 1 - float(early["epochs"]) / float(whole["epochs"]) == pytest.approx(saved, abs=0.005)
        assert [float(row["error, 100%"]) for row in (whole, early, on)] == pytest.approx([best, left, left], abs=0.0006)
        sizes = [(row["error, 30%"], row["error, 50%"]) for row in (whole, early, on)]
        assert sizes[0] == sizes[1] == sizes[2]
    assert int(found["sst2", "1500", "last, as many epochs"]["candidates"]) - 24 == 21
    for task, saved, left in (("sst2", 33, 0.1425), ("stsb", 27, 0.414)):
        early = found[task, "1500", "svr"]
        assert round(100 * (1 - float(early["epochs"]) / 96)) == saved
        assert float(early["error, 100%"]) == pytest.approx(left, abs=0.0006)
        assert [early[size] == found[task, "1500", "none"][size] for size in ("error, 30%", "error, 50%")] == [True, True]
