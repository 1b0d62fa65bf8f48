"""Trials and fronts in a notebook: frames, texts and tables, with what is gained before anything else."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from secateur.architecture import Architecture
from secateur.objectives import Objective
from secateur.study import Front, Member, Trials
from secateur.trial import Status, Trial

OBJECTIVES = [Objective.parse("error"), Objective.parse("parameters")]


def made(width: int) -> Architecture:
    return Architecture.of("toy", {"width": width}, f"{width:016x}"[::-1])


def trial(number: int, error: float, parameters: float) -> Trial:
    values = {"error": error, "parameters": parameters}
    return Trial(number, made(number), values=values, number=number, seconds=0.5)


TRIALS = [trial(1, 0.5, 1000.0), trial(2, 0.25, 3000.0), trial(3, 0.6, 4000.0)]


@dataclass(frozen=True, repr=False)
class Gained(Member):
    class Told(str):
        def details(self) -> str:
            return "42 → 14 ms"

    @property
    def gain(self) -> Told:
        return self.Told("3 × faster <b>")


def test_trials_are_a_list_and_a_frame():
    failed = Trial(4, made(4), Status.FAILED, reason="no room", number=4)
    trials = Trials([*TRIALS, failed])
    assert trials[0] is TRIALS[0]
    frame = trials.to_pandas()
    assert list(frame.index) == [1, 2, 3, 4]
    assert list(frame["status"]) == ["complete"] * 3 + ["failed"]
    assert frame.loc[2, "error"] == 0.25
    assert frame.loc[4, "reason"] == "no room"
    assert "3,000" in trials._repr_html_()
    assert Trials().to_pandas().empty
    assert "<table" in Trials()._repr_html_()


def test_a_front_is_a_frame_by_key():
    front = Front.of(TRIALS, OBJECTIVES, {"parameters": 4000.0})
    frame = front.to_pandas()
    assert list(frame.index) == [TRIALS[0].key, TRIALS[1].key]
    assert list(frame["parameters_share"]) == [0.25, 0.75]
    assert repr(front).splitlines()[0] == "<Front of 2 by error, parameters>"
    assert TRIALS[0].key[:8] in front._repr_html_()
    empty = Front([], OBJECTIVES, {})
    assert repr(empty) == "<Front of 0 by error, parameters>"
    assert empty.to_pandas().empty
    assert "<table" in empty._repr_html_()


def test_a_long_front_is_cut_in_its_text():
    many = Front.of([trial(i, 1 / (i + 1), float(i)) for i in range(40)], OBJECTIVES, {})
    assert len(repr(many).splitlines()) == 32
    assert repr(many).endswith("  … 10 more")


def test_what_is_gained_comes_first():
    front = Front.of(TRIALS, OBJECTIVES, {}).map(Gained)
    member = front[0]
    assert repr(member) == f"<{member.key[:8]}: 3 × faster <b>; toy(width=1); error 0.5, parameters 1000>"
    assert next(iter(front.to_pandas().columns)) == "gain"
    for shown in (member._repr_html_(), front._repr_html_()):
        assert "3 × faster &lt;b&gt;" in shown  # names are no markup
        assert shown.index("3 × faster") < shown.index("toy")
    assert "42 → 14 ms" in member._repr_html_()
    assert repr(Member(TRIALS[0])).startswith(f"<{TRIALS[0].key[:8]}: toy")


@pytest.mark.parametrize("job", ["pruned", "designed"])
def test_a_run_says_what_it_has_come_to(job, request):
    from secateur.runs.folder import open_run

    run = open_run(request.getfixturevalue(job))
    lines = repr(run).splitlines()
    assert f"{type(run).__name__} {run.folder}: finished" in lines[:2]
    assert f"<Front of {len(run.front)} by" in repr(run)
    assert run._repr_html_().startswith("<p>")
    assert run._repr_html_().count("<tr>") >= len(run.front)
    assert len(run.trials.to_pandas()) == len(run.trials)
    assert str(run.front[0].gain) in repr(run.front[0])
    run.configuration = SimpleNamespace(verb="another")  # a run that has no page is shown all the same
    assert repr(run).startswith(f"<{type(run).__name__} {run.folder}: ")
