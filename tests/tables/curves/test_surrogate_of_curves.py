"""Surrogates that answer with learning curves: what they say, what they are kept in, and tables that they cannot learn from."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from secateur.errors import ConfigurationError, DataError, StudyError
from secateur.predictors.curves.model import Ways
from secateur.rng import generator
from secateur.tables import TableEstimator
from secateur.tables.curves.answering import AnsweringTable, open_surrogate
from secateur.tables.curves.material import Reading, known_curves
from secateur.tables.curves.surrogate import CARD, VERSION, CurveSurrogate
from secateur.tables.opening import open_table
from secateur.tables.searchable import Reported
from secateur.testing.toy_curves import write_toy_curves


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    return lambda *change, **given: write_toy_curves(tmp_path_factory.mktemp("curves") / "toys.parquet", *change, **given)


def fitted(path: Path, features: tuple[Reported, ...] = (), **more: Any) -> CurveSurrogate:
    opened = open_table(str(path))
    return CurveSurrogate.fitted(opened, Reading.of(opened, features=features), Ways(components=2), **more)


def test_it_answers_for_networks_that_it_has_not_seen(table: Any) -> None:
    made = fitted(table(), columns=["latency"])
    known = open_table(str(table())).table
    new = [a for a in made.space.sample_many(60, generator(1, "new")) if a.key not in known]
    answers = made.answers(new)
    assert set(answers.curves) == {"loss", "train_loss"}
    assert set(answers.columns) == {"latency"}
    assert answers.seconds is not None
    assert answers.budgets.tolist() == [10, 20, 30, 40, 50, 60]
    assert (np.diff(answers.curves["loss"], axis=1) < 0).all()
    sizes = np.log(answers.seconds)
    assert np.corrcoef(answers.curves["loss"][:, -1], sizes)[0, 1] < -0.8
    again = made.answers(known.architectures)
    assert np.abs(again.curves["loss"] - known.curves["loss"]).mean() < 0.1
    assert np.corrcoef(again.columns["latency"], known.column("latency"))[0, 1] > 0.9


def test_noise_depends_on_seed_and_network_alone(table: Any) -> None:
    made = fitted(table())
    drawn = made.space.sample_many(6, generator(2, "drawn"))
    noisy = made.answers(drawn, seed=3)
    assert np.allclose(made.answers(drawn[4:5], seed=3).curves["loss"], noisy.curves["loss"][4:5])
    assert not np.allclose(made.answers(drawn, seed=4).curves["loss"], noisy.curves["loss"])
    many = np.mean([made.answers(drawn, seed=seed).curves["loss"] for seed in range(300)], axis=0)
    assert np.abs(many - made.answers(drawn).curves["loss"]).max() < 0.01


@pytest.mark.parametrize("regressor", ["lgb", "xgb", "mlp"])
def test_what_is_written_is_read(table: Any, tmp_path: Path, regressor: str) -> None:
    opened = open_table(str(table(seeds=3)))
    ways = Ways(regressor=regressor, noise="seeds", components=2)
    made = CurveSurrogate.fitted(opened, Reading.of(opened, ["loss"]), ways, members=2, columns=["latency"])
    made.write(tmp_path)
    found = CurveSurrogate.read(tmp_path)
    drawn = made.space.sample_many(6, generator(2, "drawn"))
    for seed in (None, 1):
        mine, theirs = made.answers(drawn, seed), found.answers(drawn, seed)
        assert np.array_equal(mine.curves["loss"], theirs.curves["loss"])
        assert np.array_equal(mine.column("latency"), theirs.column("latency"))
    assert found.fingerprint == made.fingerprint
    assert found.card == made.card
    assert not list(tmp_path.rglob("*.pkl"))
    assert json.loads((tmp_path / CARD).read_text())["version"] == VERSION


def test_one_that_is_fitted_again_takes_the_place_of_the_old(table: Any, tmp_path: Path) -> None:
    opened = open_table(str(table()))
    for components, members, columns in ((4, 3, ["latency"]), (2, 1, [])):
        reading, ways = Reading.of(opened, ["loss"]), Ways(components=components)
        CurveSurrogate.fitted(opened, reading, ways, members=members, columns=columns).write(tmp_path)
    found = CurveSurrogate.read(tmp_path)
    assert (found.model.members[0].components, len(found.model.members)) == (2, 1)
    assert not (tmp_path / "member-1").exists()


def test_its_fingerprint_tells_what_it_says_beside_curves(table: Any) -> None:
    def slower(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row["latency"] *= 7

    found = [fitted(path, columns=["latency"]).fingerprint for path in (table(), table(), table(slower))]
    assert found[0] == found[1] != found[2]


def test_folders_that_hold_no_surrogate_of_this_version(table: Any, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"it has no surrogate\.json"):
        CurveSurrogate.read(tmp_path)
    fitted(table()).write(tmp_path)
    card = json.loads((tmp_path / CARD).read_text())
    (tmp_path / CARD).write_text(json.dumps({**card, "version": 0}))
    with pytest.raises(StudyError, match=r"of version 0, and version 2 is read here\. Fit the surrogate again"):
        CurveSurrogate.read(tmp_path)
    (tmp_path / CARD).write_text(json.dumps({**card, "space": "elsewhere"}))
    with pytest.raises(StudyError, match="does not describe a surrogate"):
        CurveSurrogate.read(tmp_path)
    (tmp_path / CARD).write_text("{")
    with pytest.raises(StudyError, match="is not the card of a surrogate"):
        CurveSurrogate.read(tmp_path)
    (tmp_path / CARD).write_text(json.dumps(card))
    next((tmp_path / "member-0").glob("regressor*")).unlink()
    with pytest.raises(StudyError, match="regressor-0"):
        CurveSurrogate.read(tmp_path)


def test_features_must_be_told(table: Any, tmp_path: Path) -> None:
    made = fitted(table(), (Reported("loss", 10.0), Reported("latency")))
    drawn = made.space.sample_many(2, generator(0, "drawn"))
    with pytest.raises(ConfigurationError, match="needs to be told of each network: loss@10, latency"):
        made.answers(drawn)
    assert made.answers(drawn, features=np.array([[9.0, 1e-3], [8.0, 1e-3]])).curves["loss"].shape == (2, 6)
    with pytest.raises(ConfigurationError, match="must have 2 rows"):
        made.answers(drawn, features=np.zeros((3, 2)))
    made.write(tmp_path)
    with pytest.raises(ConfigurationError, match="cannot be searched: the surrogate needs to be told more"):
        open_surrogate(tmp_path)
    known = open_table(str(table())).table
    beside = np.column_stack([known.column("loss", 10.0), known.column("latency")])
    told = made.answers(known.architectures, features=beside)
    assert np.abs(told.curves["loss"] - known.curves["loss"]).mean() < 0.1


def test_as_a_table_it_answers_for_all(table: Any, tmp_path: Path) -> None:
    fitted(table()).write(tmp_path / "toys")
    opened = open_table(str(tmp_path / "toys"))
    assert opened.name == "toys"
    assert "a surrogate (svd-lgb-kde, version 2) of toys" in opened.about
    assert type(opened.space).__name__ == "Decoder"
    rows = opened.table
    assert isinstance(rows, AnsweringTable)
    new = next(a for a in opened.space.sample_many(5000, generator(9, "new")) if a.key not in rows)
    for seed in (None, 0, 1):
        estimator = TableEstimator(rows, ["loss"], seed=seed, budget=60.0)
        (first,), (early,) = estimator.evaluate([new]), estimator.evaluate([new], 20.0)
        assert [at for at, _ in first.curve] == [10, 20, 30, 40, 50, 60]
        assert early.values["loss"] == first.curve[1][1]["loss"]
        assert first.seconds is not None
        assert early.seconds == pytest.approx(first.seconds / 3)
    noisy = TableEstimator(rows, ["loss"], seed=1).evaluate([new])[0].values["loss"]
    assert noisy != TableEstimator(rows, ["loss"]).evaluate([new])[0].values["loss"]
    more = rows.knowing([new])
    assert new.key in more
    assert more.fingerprint == rows.fingerprint
    expected = TableEstimator(rows, ["loss"]).evaluate([new])[0].values["loss"]
    assert more.query([new.key], "loss")[0] == pytest.approx(expected)


def gap(rows: list[dict[str, Any]]) -> None:
    rows[3]["loss"][2] = float("nan")


def shorter(rows: list[dict[str, Any]]) -> None:
    rows[2] |= {name: rows[2][name][:4] for name in ("budgets", "loss", "train_loss")}


def elsewhere(rows: list[dict[str, Any]]) -> None:
    rows[2]["budgets"] = [11.0, *rows[2]["budgets"][1:]]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (gap, r"the curve `loss` of row 4 has no number at budget 30\. Curves with gaps cannot be learnt from"),
        (shorter, "curves must be equally long, and that of row 3 has 4 points where others have 6"),
        (elsewhere, "all curves must have values at the same budgets; row 3 has others than row 1"),
    ],
)
def test_curves_that_are_not_whole(table: Any, change: Any, said: str) -> None:
    opened = open_table(str(table(change)))
    with pytest.raises(DataError, match=said):
        known_curves(opened, Reading.of(opened))


def test_what_holds_at_the_end_only_is_not_told_before(table: Any, tmp_path: Path) -> None:
    """A perplexity that a table knows of whole trainings is no answer at an early budget, and nothing to learn from."""

    def ended(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row["perplexity"] = float(np.exp(row["loss"][-1] / 10))

    path = write_toy_curves(tmp_path / "ended.parquet", ended, final=("perplexity",))
    opened = open_table(str(path))
    with pytest.raises(ConfigurationError, match="the feature `perplexity` is known at the end of a training only"):
        Reading.of(opened, features=[Reported("perplexity")])
    fitted(path, columns=["perplexity", "latency"]).write(tmp_path / "toys")
    rows = open_table(str(tmp_path / "toys")).table
    (network,) = rows.surrogate.space.sample_many(1, generator(3, "new"))
    early, late = (TableEstimator(rows, ["perplexity"], budget=60.0).evaluate([network], at)[0] for at in (20.0, 60.0))
    assert early.failure is not None
    assert late.values["perplexity"] > 1
    assert TableEstimator(rows, ["latency"], budget=60.0).evaluate([network], 20.0)[0].values["latency"] > 0


def test_a_training_counts_once(table: Any) -> None:
    """It may stand under two sources; but rows of one seed with different curves are a mistake."""

    def twice(rows: list[dict[str, Any]]) -> None:
        rows[:] = [{**row, "source": source} for row in rows for source in ("one", "two")]

    opened = open_table(str(table(twice)))
    known = known_curves(opened, Reading.of(opened))
    assert (len(known), known.repeated, opened.table.repeated) == (40, 0, 0)
    assert open_table(str(table(seeds=2))).table.repeated == 40
    drawn = opened.space.sample_many(6, generator(2, "drawn"))
    one, two = (fitted(path, columns=["latency"]).answers(drawn) for path in (table(), opened.table.where))
    assert np.array_equal(one.curves["loss"], two.curves["loss"])
    assert np.array_equal(one.column("latency"), two.column("latency"))

    def unsaid(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            del row["seed"]

    opened = open_table(str(table(unsaid, seeds=2)))
    with pytest.raises(DataError, match=r"rows 1 and 2 are of one network with one seed, 0, .* Give each training"):
        known_curves(opened, Reading.of(opened))


def test_a_card_that_does_not_fit_its_models(table: Any, tmp_path: Path) -> None:
    fitted(table(), columns=["latency"]).write(tmp_path)
    card = json.loads((tmp_path / CARD).read_text())
    wider = {**card, "options": {**card["options"], "layers": "1..5"}}
    for changed in (
        wider,
        {**card, "metrics": ["loss"]},
        {**card, "scalars": ["latency", "memory", "seconds"]},
        {**card, "members": 0},
    ):
        (tmp_path / CARD).write_text(json.dumps(changed))
        with pytest.raises(StudyError, match="does not fit the models beside it"):
            CurveSurrogate.read(tmp_path)
    (tmp_path / CARD).write_text(json.dumps({**card, "trained": "another"}))
    with pytest.raises(StudyError, match="`vector` is another encoding than the one"):
        CurveSurrogate.read(tmp_path)
    (tmp_path / CARD).write_text(json.dumps({name: card[name] for name in card if name != "table"}))
    with pytest.raises(StudyError, match="it lacks `table`"):
        CurveSurrogate.read(tmp_path)


def test_what_the_table_lacks(table: Any) -> None:
    opened = open_table(str(table()))
    with pytest.raises(DataError, match=r"has no curve `accuracy`\. Its curves: loss, train_loss"):
        Reading.of(opened, ["accuracy"])
    with pytest.raises(DataError, match="has no budget 15"):
        Reading.of(opened, features=[Reported("loss", 15.0)])
    for end in (None, float(opened.table.budgets.max())):
        with pytest.raises(ConfigurationError, match="is the end of a curve: give an early budget, as in loss@10"):
            Reading.of(opened, features=[Reported("loss", end)])
    with pytest.raises(DataError, match="has no learning curves"):
        Reading.of(open_table("prune-stsb"))
    with pytest.raises(ConfigurationError, match="`components` must lie in 1…12: there are 40 curves of 12 points"):
        CurveSurrogate.fitted(opened, Reading.of(opened), Ways(components=13))

    def unknown(rows: list[dict[str, Any]]) -> None:
        rows[5]["latency"] = float("nan")

    holed = open_table(str(table(unknown)))
    with pytest.raises(ConfigurationError, match="`latency` must be known and above 0"):
        CurveSurrogate.fitted(holed, Reading.of(holed), Ways(components=2), columns=["latency"])
    with pytest.raises(DataError, match="the feature `latency` of row 6 is not known"):
        known_curves(holed, Reading.of(holed, features=[Reported("latency")]))
