"""The comparison at equal perplexity, by hand."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from secateur.architecture import Architecture
from secateur.errors import DataError
from secateur.spaces.decoder import architecture
from secateur.spaces.decoder_counts import decoder_parameters

pytestmark = pytest.mark.slow

RECIPES = Path(__file__).resolve().parents[2] / "recipes"
#: (perplexity, cost): the third is beaten by the second.
PAIRS = [(10.0, 8.0), (40.0, 2.0), (50.0, 3.0), (20.0, 4.0)]


@pytest.fixture(scope="module")
def recipe(load_recipe: Any) -> Any:
    return load_recipe("design/equal_perplexity.py")


def row(
    layers: int, perplexity: float, source: str, latency: float | None, memory: float | None, embedding: int = 8
) -> dict[str, Any]:
    found = architecture("gpt2", 16, [2] * layers, [64] * layers, embedding, 2).to_json()
    return {"architecture": found, "perplexity": perplexity, "source": source, "latency": latency, "memory": memory}


def written(folder: Path, rows: list[dict[str, Any]]) -> Path:
    file = folder / "table.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows))
    return file


def test_what_is_trained_of_a_front(recipe: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty members of 1…30 layers, whose latency grows but for one quick and one slow member within the baseline's range."""
    members = []
    for layers in range(1, 31):
        found = architecture("gpt2", 64, [2] * layers, [512] * layers, 128, 2)
        latency = {3: 2.5, 9: 30.0}.get(layers, float(layers))
        values = {"decoder_parameters": decoder_parameters(found), "latency": latency}
        members.append(SimpleNamespace(architecture=found, key=found.key, values=values))
    monkeypatch.setattr("secateur.runs.folder.open_run", lambda run: SimpleNamespace(front=members))
    rows = recipe.listed(Path("run"))
    least, most = (decoder_parameters(architecture("gpt2", 128, [4] * n, [512] * n, 128, 2)) for n in (1, 8))
    spaced = {1, 4, 7, 11, 14, 17, 20, 24, 27, 30}
    quickest = {n for n, m in enumerate(members, 1) if n != 9 and least <= m.values["decoder_parameters"] <= most}
    assert {3, 8} <= quickest
    found = [Architecture.from_json(row["architecture"]) for row in rows]
    sizes = [len(a["heads"]) for a in found]  # type: ignore[arg-type]
    assert [row["source"] for row in rows] == ["search"] * (len(rows) - 16) + ["baseline"] * 8 + ["lts"] * 8
    assert sizes == [*sorted(spaced | quickest), *range(1, 9), *range(1, 9)]
    assert found[-9] == architecture("gpt2", 128, [4] * 8, [512] * 8, 128, 2)
    assert found[-1] == architecture("gpt2", 160, [4] * 8, [320] * 8, 128, 4)


def test_the_cheapest_that_is_no_worse(recipe: Any) -> None:
    wanted = {9.9: None, 10.0: 8.0, 19.9: 8.0, 20.0: 4.0, 45.0: 2.0, 90.0: 2.0}
    assert {at: recipe.cost_at(PAIRS, at) for at in wanted} == wanted


def test_between_members_the_line_is_straight_in_log_perplexity(recipe: Any) -> None:
    assert recipe.between(PAIRS, 10.0) == pytest.approx(8)
    assert recipe.between(PAIRS, 200**0.5) == pytest.approx(6)
    assert recipe.between(PAIRS, 20.0) == pytest.approx(4)
    assert recipe.between(PAIRS, 800**0.5) == pytest.approx(3)
    assert recipe.between(PAIRS, 9.9) is None
    assert recipe.between(PAIRS, 45.0) is None, "beyond the last member that no other beats"


def test_the_proxy_picks_the_largest_at_each_cost(recipe: Any, tmp_path: Path) -> None:
    # Of three layers one is quicker, and four are quicker than either; of two layers both are equally quick.
    costs = [(1, 1.0), (2, 2.0), (2, 2.0), (3, 5.0), (3, 6.0), (4, 4.0)]
    rows = [row(n, 10.0 + i, "random", cost, 1.0, 2 + 2 * i) for i, (n, cost) in enumerate(costs)]
    pool = recipe.read_trained(written(tmp_path, rows)).averaged()
    assert recipe.picked(pool, "latency").column("perplexity").tolist() == [10, 11, 12, 15]
    assert recipe.picked(pool, "memory").column("perplexity").tolist() == [15]


def test_baselines_against_a_front(recipe: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Members of 1, 2, 3 and 4 layers; the baselines are not in order.
    rows = [row(n, p, "search", c * 1e-3, c * 1e6) for n, (p, c) in enumerate(PAIRS, start=1)]
    rows += [row(6, 5.0, "baseline", 9e-3, 9e6), row(3, 800**0.5, "baseline", 12e-3, 6e6)]
    rows.append(row(1, 20.0, "lts", 2e-3, 4e6))
    table = written(tmp_path, rows)
    recipe.main(["analyse", str(table)])
    first, searched, second, by_proxy = capsys.readouterr().out.strip().split("\n\n")
    assert first == "Against 4 members of a searched front:"
    shown = searched.splitlines()
    assert shown[2:] == [
        "| GPT-2, 3 layers | 28.3 | 12.00 ms | 4.00 × | 3.00 × | 4.00 × | 6.00 MB | 2.00 × | 1.50 × | 2.00 × |",
        "| GPT-2, 6 layers | 5.0 | 9.00 ms | – | – | – | 9.00 MB | – | – | – |",
        "| LTS, 1 layer | 20.0 | 2.00 ms | 1.00 × | 0.50 × | 0.50 × | 4.00 MB | 2.00 × | 1.00 × | 1.00 × |",
    ]
    assert shown[0].count("|") == shown[1].count("|") == shown[2].count("|")
    # One layer at 8 ms has fewer parameters than two at 2 ms and is not picked, nor are three layers at 3 ms lost to four at 4.
    assert second.endswith("of 4 trained networks, 3 (latency) and 3 (memory):")
    assert by_proxy.splitlines()[2] == searched.splitlines()[2]


def test_plain_embeddings_are_not_compared_with_adaptive_ones(recipe: Any, tmp_path: Path) -> None:
    rows = [row(1, 20.0, source, 8e-3, 8e6) for source in ("search", "baseline", "lts")] + [row(2, 10.0, "random", 1.0, 1.0, 0)]
    assert "of 1 trained networks" in recipe.analyse(written(tmp_path, rows))


def test_a_network_of_both_sources_counts_in_both(recipe: Any, tmp_path: Path) -> None:
    rows = [row(1, 10.0, source, 8e-3, 8e6) for source in ("random", "search", "baseline", "lts")]
    assert "| GPT-2, 1 layer | 10.0 | 8.00 ms | 1.00 × | 1.00 × |" in recipe.analyse(written(tmp_path, rows))


def test_the_front_against_evolutions(recipe: Any, tmp_path: Path) -> None:
    # The front costs 8 at 10 and 4 at 20; evolution's 8 at 20 and 4 at 40.
    rows = [row(n, p, "search", c * 1e-3, c * 1e6) for n, p, c in ((2, 10.0, 8.0), (1, 20.0, 4.0))]
    rows += [row(n, p, "evolution", c * 1e-3, c * 3e6) for n, p, c in ((4, 20.0, 8.0), (3, 40.0, 4.0))]
    rows += [row(5, 20.0, "baseline", 1e-3, 1e6), row(5, 30.0, "lts", 1e-3, 1e6)]  # the front has nothing at 30
    found = recipe.analyse(written(tmp_path, rows))
    told = "2.00 × on average (2.00 to 2.00) in latency, 6.00 × on average (6.00 to 6.00) in memory."
    assert found.endswith(f"Against 2 members of evolution's front, interpolated at these perplexities: {told}")
    assert "of 4 trained networks, 2 (latency) and 4 (memory)" in found, "the proxy picks from evolution's too"
    rows[-2]["perplexity"] = 30.0
    assert recipe.analyse(written(tmp_path, rows)).endswith(": – in latency, – in memory.")


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([row(1, 10.0, "search", 1.0, 1.0)], "no rows of source `baseline`"),
        ([row(1, 10.0, source, 1.0, 1.0) for source in ("search", "baseline")], "no rows of source `lts`"),
        ([row(1, 10.0, "baseline", 1.0, 1.0)], "no rows of source `search`"),
        (
            [row(1, 10.0, source, None if source == "lts" else 1.0, 1.0) for source in ("lts", "baseline", "search")],
            "1 of 3 networks .* have no `latency`",
        ),
        (
            [row(1, 10.0, source, 1.0, None if source == "search" else 1.0) for source in ("lts", "baseline", "search")],
            "benchmark.py latency",
        ),
    ],
)
def test_what_is_missing_is_said(recipe: Any, tmp_path: Path, rows: list[dict[str, Any]], words: str) -> None:
    table = written(tmp_path, rows)
    with pytest.raises(DataError, match=words):
        recipe.analyse(table)
    with pytest.raises(SystemExit, match="equal_perplexity: .*" + words):
        recipe.main(["analyse", str(table)])


def test_the_text_shows_what_was_trained(recipe: Any) -> None:
    text = (RECIPES / "design/README.md").read_text(encoding="utf-8")
    parts = recipe.analyse(RECIPES / "design/benchmark.parquet").split("\n\n")
    for part in parts:
        assert part in text
    faster = [float(line.split("|")[5].strip(" ×")) for line in parts[3].splitlines()[2:]]
    gpt2, lts = (f"{min(some):.1f} to {max(some):.1f} × as fast as" for some in (faster[:8], faster[8:]))
    readme = " ".join((RECIPES.parent / "README.md").read_text(encoding="utf-8").split())
    assert f"its picks are {lts} LiteTransformerSearch's baseline in that size" in readme
    assert f"but {gpt2} GPT-2's own layers" in readme
