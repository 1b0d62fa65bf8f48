"""Several processes for one run: the same networks have the same values."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from secateur.errors import ConfigurationError

pytestmark = pytest.mark.usefixtures("brief")


def values(run: Any) -> dict[str, Any]:
    """Key → values of what the searcher asked for."""
    found = {t.key: (str(t.status), dict(t.values)) for t in run.trials if t.id is not None}
    run.close()
    return found


@pytest.mark.slow
def test_a_pruning_run_with_two_workers_finds_the_same_values(quick_prune: Any, tmp_path: Path) -> None:
    """Bounds are shares of the unpruned network, which is evaluated once, before the workers begin."""
    changes = {"objectives": ["error", "body_parameters<=90%"], "searcher": "random", "depths": False, "trials": 5}
    changes |= {"epochs": 1.0, "order": False, "polish": False}
    alone = quick_prune(tmp_path / "alone", **changes)
    both = quick_prune(tmp_path / "both", workers=2, **changes)
    assert any("2 processes searched in parallel" in note for note in both.notes)
    assert both.unpruned == alone.unpruned
    assert values(both) == values(alone)


@pytest.mark.slow
def test_trained_candidates_of_two_workers_go_on_where_they_stopped(quick_prune: Any, tmp_path: Path) -> None:
    """Which are tried depends on their timing; what each reaches at a budget does not, whoever trained it before."""
    changes: dict[str, Any] = {"method": "standard", "searcher": "mo-asha", "trials": 10, "r_min": 0.5, "eta": 2, "epochs": 1.0}
    changes |= {"trial_epochs": 2.0, "polish": False, "formats": False}
    both = quick_prune(tmp_path / "both", workers=2, **changes)
    asked = {t.id: t for t in both.trials}
    assert {t.status for t in both.trials} == {"complete"}
    assert any(t.continues is not None for t in asked.values())
    assert all(asked[t.continues].key == t.key for t in asked.values() if t.continues is not None)
    alone = quick_prune(tmp_path / "alone", **changes)
    reached = {t.point: dict(t.values) for t in alone.trials}
    common = [t for t in asked.values() if t.point in reached]
    assert len(common) >= 4
    assert all(dict(t.values) == reached[t.point] for t in common)
    best = both.front[-1]
    best.save(tmp_path / "pruned")


@pytest.mark.slow
def test_a_design_run_with_two_workers_finds_the_same_values(quick_design: Any, tmp_path: Path) -> None:
    changes = {"objectives": ["synflow", "memory", "parameters"], "bounds": ["macs<=1G"], "searcher": "random", "trials": 8}
    alone = quick_design(tmp_path / "alone", **changes)
    both = quick_design(tmp_path / "both", workers=2, **changes)
    assert values(both) == values(alone)


def test_what_is_timed_has_one_worker(quick_design: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="`workers` must be 1 when latency is measured"):
        quick_design(tmp_path / "run", workers=2, measure="all")
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_script_without_its_guard_is_told_so(tmp_path: Path) -> None:
    """Each worker loads the script anew: it must not start a run there."""
    script = tmp_path / "script.py"
    script.write_text(
        "import secateur\n"
        "secateur.design(to='run', workers=2, trials=4, objectives=['synflow', 'parameters'], layers='1..2', width='16',"
        " inner='32..64:16', heads='2', embedding='8', vocabulary=60, positions=16, length=8, baselines=False)\n"
    )
    done = subprocess.run([sys.executable, script.name], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode != 0
    assert "a worker process could not start (exit code 1)" in done.stderr.splitlines()[-1]
    assert "__main__" in done.stderr.splitlines()[-1]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["run", "script.py"]
