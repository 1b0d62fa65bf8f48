"""Every snippet of README.md and docs/ runs.

A page's blocks run in order, in one namespace and one folder. `python` blocks are executed. Of `bash` blocks, each `secateur`
line goes through the command line; `make`, `pip`, `git`, `torchrun` and `cd` lines are only checked against what they name.

The folder holds toys under the names that the pages use, so that no page is rewritten for the test (an existing path wins over
a name on the hub): `bert-base-cased`, `my-model`, `my-llama`, `my-gpt2`, `my-vit`, `train.csv`, `reviews/`, GLUE's RTE,
`my-images/`, `my-text.txt`, a task for `secateur evaluate` and a table of trained decoders. Finished runs lie in `runs/rte` and
`runs/phone`, unless the page makes them itself. What differs from what a reader would see: there may be no GPU
(`SUBSTITUTIONS`), the demo takes minutes, tasks of the hub and a push need a connection, published tables are not here, `watch`
does not end by itself and `join` needs a run at its search (`parsed_only`), latencies are measured only briefly, and what a
page leaves open is small (`hurry`): few epochs and trials, a toy space, short texts.
"""

from __future__ import annotations

import ast
import csv
import json
import os
import random
import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest

from secateur.anatomy import ANATOMIES
from secateur.runs.prune.settings import PruneSettings
from secateur.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NOTEBOOK = ROOT / "docs" / "notebook.ipynb"

#: What a snippet says → what the test runs.
SUBSTITUTIONS = {"--device cuda": "--device cpu", 'device="cuda"': 'device="cpu"', "--mixed-precision bf16 ": ""}
#: What is taken for what a page leaves open: seconds of work.
TOY_DESIGN: dict[str, object] = {
    "layers": "1..2",
    "width": "16..32:16",
    "inner": "32..64:16",
    "heads": "2,4",
    "embedding": "8",
    "trials": 20,
    "vocabulary": 300,
    "positions": 512,
    "length": 16,
    "most_measured": 6,
    "unsteady": True,
    "seconds": 0.05,
    "fit_seconds": 0.5,
}
TOY_PRUNE: dict[str, object] = {
    "epochs": 1.0,
    "trials": 12,
    "polish_at": ["50%"],
    "polish_epochs": 1.0,
    "formats": False,
    "fit_seconds": 1.0,
}
TOY_PROXIES: dict[str, object] = {
    **{"batch": 4, "length": 16},
    **{"networks": 2, "epochs": 1, "reference_epochs": 1, "factor": 0.05, "batches": 2, "max_train": 130},
}
TOY_SEARCH: dict[str, object] = {"seeds": 2, "queries": 10, "workers": 1}
TOY_PRETRAIN: dict[str, object] = {"cells": 100, "epochs": 1, "width": 8, "batch": 16}
TOY_CELLS: dict[str, object] = {"max_train": 48, "max_validation": 32, "max_test": 32, "channels": 2, "nodes": 1, "epochs": 2}
TOY_CELLS |= {"warm_up": 1, "mask_epochs": 2, "tune_epochs": 1}
TOY_BENCH: dict[str, object] = {"level": ["50%", "90%"], "samples": 4, "sizes": 8, "trials": 4}

FENCE = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the line its text begins at."""

    language: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    if page == NOTEBOOK:
        return [Block("python", "".join(cell["source"]), i) for i, cell in enumerate(cells()) if cell["cell_type"] == "code"]
    return [Block(m[1], m[2], text[: m.start(2)].count("\n") + 1) for m in FENCE.finditer(text)]


def cells() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return found


# The toys


def write_rows(path: Path, header: tuple[str, ...], rows: list[tuple[object, ...]], delimiter: str = ",") -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerows([header, *rows])


def write_data(folder: Path) -> list[str]:
    """The data files; returns their texts."""
    rng = random.Random(0)
    words = (["bad", "dull", "poor", "weak"], ["good", "great", "fine", "lovely"])
    rows: list[tuple[object, ...]] = []
    for i in range(96):
        text = [rng.choice(words[i % 2]) for _ in range(3)] + ["film", "plot"]
        rng.shuffle(text)
        rows.append((" ".join(text), i % 2))
    write_rows(folder / "train.csv", ("review", "stars"), rows)
    (folder / "reviews").mkdir()
    write_rows(folder / "reviews" / "train.tsv", ("text", "label"), rows[:72], "\t")
    write_rows(folder / "reviews" / "test.tsv", ("text", "label"), rows[72:], "\t")
    pairs = [
        (one[0], other[0], "entailment" if one[1] == other[1] else "not_entailment")
        for one, other in zip(rows[:64], rows[1:65:2] * 2, strict=True)
    ]
    rte = folder / "glue" / "rte"
    rte.mkdir(parents=True)
    write_rows(rte / "train.tsv", ("sentence1", "sentence2", "label"), pairs[:48], "\t")
    write_rows(rte / "dev.tsv", ("sentence1", "sentence2", "label"), pairs[48:], "\t")
    return [str(row[0]) for row in rows]


def write_model(folder: Path, family: str, texts: list[str]) -> None:
    from secateur.testing.models import toy_model
    from secateur.testing.toy_tokenizer import toy_tokenizer

    toy_model(family, num_labels=2, max_position_embeddings=128).save_pretrained(folder)
    toy_tokenizer(texts).save_pretrained(folder)


def write_text(folder: Path) -> None:
    rng = random.Random(0)
    words = ["the", "a", "small", "network", "reads", "writes", "text", "with", "fast", "layer", "head", "garden", "rose"]
    lines = [" ".join(rng.choice(words) for _ in range(9)) + "." for _ in range(400)]
    (folder / "my-text.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_task(folder: Path) -> None:
    """The task that docs/how-to/evaluate.md shows, with data, and a model that can be asked."""
    from secateur.testing.models import toy_model
    from secateur.testing.toy_tokenizer import toy_tokenizer

    told = next(b.text for b in blocks(ROOT / "docs" / "how-to" / "evaluate.md") if b.language == "yaml")
    (folder / "tasks").mkdir()
    (folder / "tasks" / "colours.yaml").write_text(told, encoding="utf-8")
    questions = [{"question": "The sky is", "choices": ["blue", "square"], "gold": 0}]
    questions += [{"question": "A rose is", "choices": ["Tuesday", "red"], "gold": 1}]
    (folder / "colours").mkdir()
    for name in ("train", "test"):
        lines = "".join(json.dumps(question) + "\n" for question in questions)
        (folder / "colours" / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    toy_model("gpt2", "causal", layers=2, n_positions=128).save_pretrained(folder / "my-gpt2")
    toy_tokenizer(["The sky is blue square", "A rose is Tuesday red"], pad=False).save_pretrained(folder / "my-gpt2")


def write_images(folder: Path) -> None:
    """A model that reads images, and a folder of them: bright ones and dark ones, of several sizes."""
    import numpy as np
    from PIL import Image

    from secateur.testing.models import toy_model

    toy_model("vit").save_pretrained(folder / "my-vit")
    for number in range(60):
        path = folder / "my-images" / ("bright", "dark")[number % 2] / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((8 + number % 3, 9, 3), 100 * (1 - number % 2) + number, dtype=np.uint8)).save(path)


def write_table(path: Path) -> None:
    """A table of decoders as if they had been trained."""
    import pandas

    from secateur.rng import generator
    from secateur.spaces.decoder import Decoder
    from secateur.spaces.decoder_counts import decoder_parameters

    rows = []
    space = Decoder(layers="1..3", width="16..32:16", inner="32..96:16", heads=(2, 4), embedding=(8,), factor=(1,))
    for place, architecture in enumerate(space.sample_many(8, generator(0))):
        size = decoder_parameters(architecture)
        losses = [5.5, 5.0, 4.0 + 1000 / size + 0.01 * (place % 3)]
        row = {
            "architecture": architecture.to_json(),
            "perplexity": 2.718 ** losses[-1],
            "source": "random",
            "latency": size / 1e7,
        }
        rows.append({**row, "steps": [1, 50, 100], "curve": losses, "vocabulary": 300, "positions": 64})
    path.parent.mkdir(parents=True)
    pandas.DataFrame(rows).to_parquet(path)


def hurried(settings: type[Settings], toys: dict[str, object]) -> AbstractContextManager[object]:
    """Where a page leaves open what these settings are, they are those of a toy."""
    real = settings.__init__

    def init(self: object, **given: object) -> None:
        usual = {name for name in toys if given.get(name, settings.usual(name)) == settings.usual(name)}
        usual -= set() if given.get("polish", True) else {"polish_epochs"}  # refused where nothing is polished
        usual -= {"queries"} if given.get("seconds") else set()  # one of them says when a search ends
        real(self, **{**given, **{name: toys[name] for name in usual}})

    return mock.patch.object(settings, "__init__", init)


@pytest.fixture(scope="module")
def hurry() -> Iterator[None]:
    """A latency is measured for a moment, steady or not; what is pruned, designed or scored by proxies is so with few steps."""
    import secateur.devices.latency as clocks
    import secateur.runs.design.baselines as baselines
    import secateur.runs.prune.measuring as measuring
    from secateur.devices.steadiness import check_steady
    from secateur.runs.bench.proxies import ProxySettings
    from secateur.runs.bench.pruning_settings import PruningSettings
    from secateur.runs.bench.search import SearchSettings
    from secateur.runs.cells.settings import CellsSettings
    from secateur.runs.design.settings import DesignSettings
    from secateur.runs.encode.settings import PretrainSettings

    with ExitStack() as stack:
        stack.enter_context(mock.patch.dict(check_steady.__kwdefaults__, {"seconds": 0.02}))
        toys_of = {DesignSettings: TOY_DESIGN, PruneSettings: TOY_PRUNE, ProxySettings: TOY_PROXIES, SearchSettings: TOY_SEARCH}
        toys_of |= {PruningSettings: TOY_BENCH, PretrainSettings: TOY_PRETRAIN, CellsSettings: TOY_CELLS}
        for settings, toys in toys_of.items():
            stack.enter_context(hurried(settings, toys))
        stack.enter_context(mock.patch.object(measuring, "SECONDS", 0.05))
        stack.enter_context(mock.patch.object(baselines, "LAYERS", range(1, 2)))
        stack.enter_context(mock.patch.object(clocks, "gc"))  # a collection before each takes longer than a toy's measurement
        yield


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory, hurry: None) -> Path:
    """The folder that each page gets a copy of."""
    folder = tmp_path_factory.mktemp("docs")
    texts = write_data(folder)
    write_model(folder / "my-model", "bert", texts)
    write_model(folder / "my-llama", "llama", texts)
    shutil.copytree(folder / "my-model", folder / "bert-base-cased")
    import secateur

    with mock.patch.dict(os.environ, {"SECATEUR_DATA": str(folder)}):
        run = secateur.prune(
            str(folder / "bert-base-cased"),
            "glue/rte",
            to=folder / "runs" / "rte",
            device="cpu",
            progress=False,
        )
    run.close()
    write_text(folder)
    write_task(folder)
    write_images(folder)
    write_table(folder / "recipes" / "design" / "benchmark.parquet")
    secateur.design(to=folder / "runs" / "phone", progress=False).close()
    return folder


@pytest.fixture
def desk(workshop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the workshop to run one page in. What a page registers is forgotten afterwards."""
    folder = tmp_path / "desk"
    shutil.copytree(workshop, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SECATEUR_DATA", str(folder))
    monkeypatch.setattr("webbrowser.open", lambda address: True)
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    known = dict(ANATOMIES)
    yield folder
    ANATOMIES.clear()
    ANATOMIES.update(known)


# Running


def substituted(text: str) -> str:
    for said, run in SUBSTITUTIONS.items():
        text = text.replace(said, run)
    return text


def run_python(block: Block, page: Path, names: dict[str, object]) -> None:
    tree = ast.parse(substituted(block.text), str(page))
    ast.increment_lineno(tree, block.line - 1)  # so that a traceback points into the page
    exec(compile(tree, str(page), "exec"), names)


def commands(text: str) -> list[tuple[dict[str, str], list[str]]]:
    """The commands of a block: variables set for one, and its words."""
    found = []
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        variables = {}
        while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
            name, _, value = words.pop(0).partition("=")
            variables[name] = value
        if words:
            found.append((variables, words))
    return found


def run_command(variables: dict[str, str], words: list[str]) -> None:
    if words[0] == "secateur":
        run_secateur(variables, words[1:])
    elif words[0] == "make":
        targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        assert set(words[1:]) <= set(targets), words
    elif words[0] == "pip":
        check_pip(words)
    else:
        assert words[0] in ("git", "cd", "torchrun", "python"), f"nobody knows how to check `{' '.join(words)}`"


def run_secateur(variables: dict[str, str], words: list[str]) -> None:
    from typer.testing import CliRunner

    from secateur.cli import app

    words = shlex.split(substituted(shlex.join(words)))
    if parsed_only(words):
        words = [*words, "--help"]
    with mock.patch.dict(os.environ, variables):
        result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output


def parsed_only(words: list[str]) -> bool:
    """Whether a command's options are checked, and it is not run."""
    tasks = [word for before, word in pairwise(words) if before in ("--task", "--preset")]
    hub = words[0] == "evaluate" and not all("colours" in task for task in tasks)
    published = words[0] in ("bench", "encode") and any(word.startswith("nb") or word.endswith(".tfrecord") for word in words)
    return (
        words[0] in ("demo", "watch", "join")
        or published
        or "--push" in words
        or hub
        or (words[0] == "evaluate" and find_spec("lm_eval") is None)
    )


def check_pip(words: list[str]) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for word in words:
        for named in re.findall(r"\[([\w,-]+)\]", word):
            assert set(named.split(",")) <= set(extras), word
    if "-c" in words:
        assert (ROOT / words[words.index("-c") + 1]).is_file()


@pytest.mark.slow
@pytest.mark.parametrize("page", [*PAGES, NOTEBOOK], ids=lambda p: str(p.relative_to(ROOT)))
def test_snippets_run(page, desk, monkeypatch):
    found = blocks(page)
    if page.name == "evaluate.md":
        pytest.importorskip("lm_eval")
    for made in set(re.findall(r"(?:--to |to=\")(runs/\w+)", "\n".join(b.text for b in found))):
        shutil.rmtree(desk / made, ignore_errors=True)
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)  # dataclasses look up where they are defined
    names = vars(module)
    for block in found:
        if block.language == "python":
            run_python(block, page, names)
        elif block.language == "bash":
            for variables, words in commands(block.text):
                run_command(variables, words)
        else:
            assert block.language in ("text", "yaml", "bibtex"), f"{page.name}:{block.line}: `{block.language}` is never run"


def test_the_notebook_was_executed():
    """In one go, without an error, and every cell that has a value shows it."""
    code = [cell for cell in cells() if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert all(output["output_type"] == "execute_result" for cell in code for output in cell["outputs"])
    assert all(cell["outputs"] for cell in code)
    assert "faster" in json.dumps(code[0]["outputs"])


# What the pages say


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    targets = [t.partition("#")[0] for t in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8")))]
    local = [t for t in targets if t and not re.match(r"[a-z]+:", t)]
    assert [t for t in local if not (page.parent / t).exists()] == []


def test_every_page_is_on_the_map():
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / t.partition("#")[0]).resolve() for t in LINK.findall(index.read_text(encoding="utf-8"))}
    assert [p for p in PAGES[1:] if p != index and p.resolve() not in linked] == []


def test_the_table_of_presets_is_the_presets():
    page = (ROOT / "docs" / "how-to" / "presets.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in page.splitlines() if row.startswith("| `")]
    said = {row[0].strip("`"): row[1:] for row in rows}

    def spelt(name: str, value: object) -> str:
        if value is None:
            return {"searcher": "by space", "space": "by method", "metric": "the task's"}.get(name, "by length")
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, list):
            return ", ".join(map(str, value))
        return f"{value:g}" if isinstance(value, float) else str(value)

    presets = {name: PruneSettings.presets[name] for name in ("default", "klein2024", "demo")}
    assert {name for values in presets.values() for name in values} <= set(said)
    is_ = {name: [spelt(name, p.get(name, PruneSettings.usual(name))) for p in presets.values()] for name in said}
    assert said == is_, "\n".join(f"| `{name}` | {' | '.join(values)} |" for name, values in is_.items())


def test_a_snippet_that_fails_is_found(desk):
    with pytest.raises(ZeroDivisionError) as caught:
        run_python(Block("python", "x = 1\nx / 0\n", 40), ROOT / "README.md", {})
    assert caught.tb.tb_next.tb_next.tb_lineno == 41
    with pytest.raises(AssertionError):
        run_command({}, ["make", "coffee"])
    with pytest.raises(AssertionError):
        run_command({}, ["pip", "install", "secateur[coffee]"])
    with pytest.raises(AssertionError):
        run_command({}, ["secateur", "front", "runs/rte", "--coffee"])
