"""The only table of names."""

from __future__ import annotations

import pytest

from secateur import catalogue
from secateur.errors import UnknownNameError

ALL = [(kind, name) for kind, entries in catalogue.CATALOGUE.items() for name in entries]


@pytest.mark.parametrize(("kind", "name"), ALL, ids=map("/".join, ALL))
def test_every_entry_can_be_found_and_says_what_it_is_about(kind: str, name: str) -> None:
    found = catalogue.find(kind, name)
    assert callable(found)
    entry = catalogue.CATALOGUE[kind][name]
    assert entry.about.strip() == entry.about != ""
    assert catalogue.about(kind, name) == entry.about
    assert not entry.about.endswith(".")
    assert found.__doc__, "what stands behind a name is documented"
    if kind in ("space", "searcher", "encoding", "predictor", "strategy") and isinstance(getattr(found, "name", None), str):
        assert found.name == name, "a thing and its entry have one name"


def test_names_serve_jobs() -> None:
    jobs = ("prune", "design", "bench", "images")
    assert catalogue.names("space") == tuple(n for job in jobs for n in catalogue.names("space", job))
    assert catalogue.names("space", "bench") == ("nasbench101", "nasbench201", "darts", "cate-outside")
    assert "decoder" not in catalogue.names("space", "prune")
    assert catalogue.names("space", "design") == ("decoder",)
    every = set(catalogue.names("searcher"))
    assert set(catalogue.names("searcher", "prune")) == every - {"exact", "bo-gcn"}
    assert set(catalogue.names("searcher", "design")) == every - {
        "mo-asha",
        "successive-halving",
        "hyperband",
        "bohb",
        "bo-gcn",
        "reinforce",
    }
    assert catalogue.names("strategy", "design") == ()
    assert catalogue.find("space", "small", "prune") is catalogue.find("space", "small")
    with pytest.raises(UnknownNameError, match=r"unknown space `small`\. Known: decoder\."):
        catalogue.find("space", "small", serving="design")
    with pytest.raises(UnknownNameError, match="unknown space `decoder`"):
        catalogue.check("space", "decoder", "prune")
    catalogue.check("space", "decoder", "design")


def test_jobs_are_verbs() -> None:
    jobs = {job for entries in catalogue.CATALOGUE.values() for entry in entries.values() for job in entry.serves}
    assert jobs - {"cli", "bench", "images"} <= set(catalogue.names("run"))
    assert any(verb.startswith("bench ") for verb in catalogue.names("verb"))
    assert set(catalogue.names("run")) == set(catalogue.names("work")) == set(catalogue.names("report"))
    assert set(catalogue.names("run")) <= set(catalogue.names("verb"))


@pytest.mark.parametrize(("kind", "name", "near"), [("space", "Smal", "small"), ("searcher", "nsga", "nsga2")])
def test_unknown_names_offer_the_nearest(kind: str, name: str, near: str) -> None:
    for call in (catalogue.check, catalogue.find):
        with pytest.raises(UnknownNameError, match=f"unknown {kind} `{name}`. Did you mean `{near}`\\? Known: "):
            call(kind, name)
    assert catalogue.about(kind, name) == name


def test_names_in_a_sentence() -> None:
    assert catalogue.listed("space", "prune") == "small, medium, layer, sublayer or large"
    assert catalogue.listed("space", "design") == "decoder"


def test_looking_at_names_imports_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "import_module", lambda name: pytest.fail(f"{name} was imported"))
    for kind in catalogue.CATALOGUE:
        for name in catalogue.names(kind):
            catalogue.check(kind, name)
            catalogue.about(kind, name)
        catalogue.listed(kind)
