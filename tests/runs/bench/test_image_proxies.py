"""`secateur bench proxies --space mobilenet`: networks for images are drawn, scored, trained and ranked."""

from __future__ import annotations

import csv
import io
import json

import pytest
from typer.testing import CliRunner

import secateur
from secateur.cli import app
from secateur.errors import ConfigurationError, UnknownNameError
from secateur.runs.bench.image_proxies import IMAGE_PROXIES
from secateur.spaces.mobilenet import Mobilenet, architecture
from secateur.spaces.mobilenet_sizes import ImageSizes, parameters
from secateur.tables.ranking import spearman

SMALL = [
    "--networks",
    "3",
    "--epochs",
    "1",
    "--reference-epochs",
    "1",
    "--factor",
    "0.05",
    "--batches",
    "2",
    "--max-train",
    "130",
]


def command(*more: str) -> str:
    found = CliRunner().invoke(app, ["proxies", "--space", "mobilenet", "--data", "digits", *SMALL, "--quiet", *more])
    assert found.exit_code == 0, found.output
    return found.output


@pytest.mark.slow
def test_every_proxy_is_judged_from_the_command_line():
    found = json.loads(command("--json"))
    assert [row["proxy"] for row in found["proxies"]] == list(IMAGE_PROXIES)
    networks, sizes = found["networks"], ImageSizes.scaled((1, 8, 8), 10, 0.05)
    assert len(networks) == 3
    for network in networks:
        made = architecture(network["architecture"]["choices"]["expansions"])
        assert Mobilenet().contains(made)
        assert network["parameters"] == parameters(made, sizes)
        assert 0 <= network["block_zoo"] <= 1
    errors, scores = zip(*((1 - n["accuracy"], n["synflow"]) for n in networks), strict=True)
    row = next(r for r in found["proxies"] if r["proxy"] == "synflow")
    assert row["spearman"] == spearman(errors, scores)


def test_some_proxies_as_text_and_as_rows():
    few = ("--proxy", "parameters", "--proxy", "macs")
    text = command(*few)
    assert "parameters" in text
    assert "synflow" not in text
    assert "3 networks of the space mobilenet, trained on 130 images of digits (1 epochs)" in text
    rows = list(csv.DictReader(io.StringIO(command(*few, "--csv"))))
    assert [row["proxy"] for row in rows] == ["parameters", "macs"]


def test_what_does_not_go_together_gets_one_line(tmp_path):
    with pytest.raises(ConfigurationError, match="`data` must be given with --space mobilenet"):
        secateur.proxies(space="mobilenet")
    with pytest.raises(ConfigurationError, match="a table is for --space decoder"):
        secateur.proxies(tmp_path / "t.csv", space="mobilenet", data="digits")
    with pytest.raises(ConfigurationError, match="`data` is for images: give --space mobilenet too"):
        secateur.proxies(tmp_path / "t.csv", data="digits", to=tmp_path)
    with pytest.raises(ConfigurationError, match="a table of trained architectures must be given, or --space mobilenet"):
        secateur.proxies(to=tmp_path)
    with pytest.raises(ConfigurationError, match="`to` must be given with a table"):
        secateur.proxies(tmp_path / "t.csv")
    with pytest.raises(UnknownNameError, match=r"unknown proxy `synflw`. Did you mean `synflow`"):
        secateur.proxies(space="mobilenet", data="digits", proxy=["synflw"])
