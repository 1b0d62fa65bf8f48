"""`secateur bench proxies`, also by its old name; what it computes is tested with `secateur.runs.bench`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from secateur.cli import app
from secateur.spaces.decoder import architecture


@pytest.mark.parametrize("command", [["bench", "proxies"], ["proxies"]], ids=" ".join)
def test_by_both_names(command: list[str], tmp_path: Path) -> None:
    networks = [architecture("gpt2", 8 * size, [2], [16 * size]) for size in range(1, 5)]
    rows = [
        {"architecture": n.to_json(), "perplexity": 60.0 - 5 * i, "source": "random", "vocabulary": 40}
        for i, n in enumerate(networks)
    ]
    table = tmp_path / "table.jsonl"
    table.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    given = [str(table), "--to", str(tmp_path / "out"), "--proxy", "decoder_parameters", "--quiet"]
    found = CliRunner().invoke(app, [*command, *given], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    assert "decoder_parameters" in found.output
    assert (tmp_path / "out" / "scores.csv").is_file()
