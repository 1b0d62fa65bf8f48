"""The settings of `secateur design`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from secateur.errors import ConfigurationError
from secateur.objectives import Objective
from secateur.runs.design.settings import DesignSettings
from secateur.spaces.decoder_sizes import Sizes

TINY: dict[str, Any] = {"layers": "1..3", "width": "16..48:16", "inner": "32..128:16", "heads": "2,4", "embedding": "8,16"}
TINY |= {"vocabulary": 60, "positions": 16, "length": 8}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"width": "64..32"}, "empty"),
        ({"inner": "8..16"}, "twice the `width`"),
        ({"heads": "5"}, "`heads` must divide"),
        ({"backbone": "gpt3"}, "gpt2"),
        ({"searcher": "evolutoin"}, "evolution"),
        ({"measure": "some"}, "front"),
        ({"runtime": "tflite"}, "onnx"),
        ({"runtime": "onnx", "device": "cuda"}, "measured on the CPU"),
        ({"objectives": ["latency"]}, "stand for quality"),
        ({"objectives": ["decoder_parameters"]}, "must be a cost"),
        ({"objectives": ["decoder_parameters", "macs", "macs"]}, "named twice"),
        ({"objectives": ["decoder_parameters", "latency<=50%"]}, "give a number"),
        ({"bounds": ["parameters"]}, "has no limit"),
        ({"bounds": ["parameters>=5M<=1M"]}, "contradict"),
        ({"bounds": ["parameters>=5M", "parameters<=1M"]}, "contradict"),
        ({"seed": -1}, "`seed` must be at least 0"),
        ({"hull": True, "searcher": "random"}, "`hull` is for"),
        ({"length": 32}, "at most `positions`"),
        ({"cutoffs": "20,90"}, "vocabulary"),
        ({"trials": 0}, "`trials` must be at least 1"),
        ({"device": "tpu"}, "cuda:N"),
        ({"preset": "lts"}, "preset"),
    ],
)
def test_faults_are_said(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        DesignSettings.resolve({**TINY, **change})


def test_all_faults_are_said_together() -> None:
    with pytest.raises(ConfigurationError) as found:
        DesignSettings.resolve({**TINY, "width": "64..32", "trials": 0, "measure": "some"})
    assert len(found.value.faults) == 3


def test_settings_are_plain_and_come_back(tmp_path: Path) -> None:
    given = {"heads": (2, 4), "cutoffs": [20, 40], "objectives": ["decoder_parameters", Objective.parse("macs<=1M")]}
    found = DesignSettings.resolve({**TINY, **given, "bounds": "parameters<=1M"})
    assert (found.heads, found.cutoffs, found.bounds) == ([2, 4], "20,40", ["parameters<=1M"])
    found.write(tmp_path)
    assert DesignSettings.read(tmp_path) == found
    assert found.sizes() == Sizes(vocabulary=60, cutoffs=(20, 40), positions=16, recurrence=0)
    (bound,) = found.parsed_bounds()
    assert (bound.name, str(bound.upper)) == ("parameters", "1000000")


def test_presets() -> None:
    paper = DesignSettings.resolve({"preset": "javaheripi2022"})
    assert (paper.factor, paper.hull, paper.measure) == ([4], True, "all")
    # the paper's own setting is kept by another searcher, which has no parents
    assert DesignSettings.resolve({"preset": "javaheripi2022", "searcher": "random"}).hull
    assert DesignSettings.resolve({"preset": "large"}).bounds == ["parameters>=300M<=500M"]


def test_only_transformer_xl_remembers() -> None:
    assert DesignSettings.resolve({"backbone": "transformer_xl"}).sizes().recurrence == 192
    assert DesignSettings.resolve({}).sizes().recurrence == 0


def test_how_networks_are_measured() -> None:
    setup = DesignSettings.resolve({**TINY, "threads": 2, "batch": 3, "seconds": 0.5}).setup(device="cpu")
    assert (setup.threads, setup.batch, setup.length, setup.seconds, setup.kind) == (2, 3, 8, 0.5, "language_modelling")
