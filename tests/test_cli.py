"""The command line: help, one clear line for every mistake, exit code 2."""

from __future__ import annotations

import inspect
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from secateur import __version__
from secateur.catalogue import find, names
from secateur.cli import app

runner = CliRunner()


def faults(*arguments: str) -> list[str]:
    """The lines that a bad command prints; it must exit with 2 and show no traceback."""
    result = runner.invoke(app, list(arguments))
    assert result.exit_code == 2, result.output
    lines = [line for line in result.stderr.splitlines() if line]
    assert all(line.startswith("secateur: ") for line in lines), result.stderr
    return lines


@pytest.fixture
def model(tmp_path: Path) -> str:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "bert"}')
    return str(folder)


@pytest.fixture
def data(tmp_path: Path) -> str:
    path = tmp_path / "data.csv"
    path.write_text("text,label\n" + "yes,1\nno,0\n" * 20)
    return str(path)


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from secateur.cli import app; from typer.testing import CliRunner;"
        "r = CliRunner().invoke(app, ['prune', '--help']);"
        "assert r.exit_code == 0, r.output;"
        "heavy = {'torch', 'transformers', 'pandas', 'sklearn', 'scipy', 'sqlalchemy', 'plotly', 'moocore'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def shown(*words: str, columns: int = 80) -> str:
    result = runner.invoke(app, list(words), terminal_width=columns)
    assert result.exit_code == 0, result.output
    return result.output


def everything(verb: str) -> str:
    """The help of a verb with its topics, where it has some."""
    return shown(*verb.split(), "--help-all" if "--help-all" in shown(*verb.split(), "--help") else "--help")


@pytest.mark.parametrize("verb", [[], *(name.split() for name in names("verb")), ["bench"], ["proxies"]], ids=" ".join)
def test_help_of_every_command(verb: list[str]) -> None:
    text = shown(*verb, "--help")
    assert "Usage:" in text
    assert "Raises" not in text
    assert len(text.splitlines()) <= 50, "the first screen has become long: give options a panel"
    for columns in (60, 80, 100):
        assert max(map(len, shown(*verb, "--help", columns=columns).splitlines())) <= columns


@pytest.mark.parametrize("verb", names("verb"))
def test_every_argument_of_the_api_is_an_option(verb: str) -> None:
    text = everything(verb)
    other = {"objectives": "--objective", "bounds": "--bound", "open_": "--open", "faster": "--for"}
    for name in inspect.signature(find("verb", verb)).parameters:
        option = other.get(name, "--" + name.replace("_", "-"))
        assert re.search(rf"{option}\b(?!-)", text) or f"  {name} " in text, option


def test_what_is_not_on_the_first_screen_is_announced() -> None:
    first, all_ = shown("prune", "--help"), shown("prune", "--help-all")
    assert "--model" in first
    assert "--squared-temperature" not in first
    assert "--squared-temperature / --no-squared-temperature\n" in all_
    found = re.search(r"(\d+) more options \((.+)\): secateur prune --help-all", " ".join(first.split()).replace("- ", "-"))
    assert found is not None
    assert int(found[1]) == len(re.findall(r"^  --", all_, re.MULTILINE)) - len(re.findall(r"^  --", first, re.MULTILINE))
    for topic in found[2].split(", "):
        assert f"{topic.capitalize()}:\n" in all_


def test_defaults_are_the_settings_own() -> None:
    text = " ".join(shown("prune", "--help-all").split())
    assert "--seconds instead. [default: 100]" in text
    assert "[default: error, body_parameters]" in text
    assert "--seed INT The seed for everything random. [default: 0]" in text
    assert "--model STR A folder with a pre-trained Transformer, or a name on the hub. [required]" in text


BENCHES = ["proxies", "search", "import", "predictors", "extrapolators", "encodings", "pruning", "surrogate"]


def test_old_names_are_hidden() -> None:
    def commands(*group: str) -> list[str]:
        text = shown(*group, "--help").partition("Commands:\n")[2].partition("\n\n")[0]
        return re.findall(r"^  (\w+) ", text, re.MULTILINE)

    assert "bench" in commands()
    assert "proxies" not in commands()
    assert commands("bench") == [
        "proxies",
        "search",
        "import",
        "predictors",
        "extrapolators",
        "encodings",
        "pruning",
        "surrogate",
    ]


def completed(*words: str) -> list[str]:
    """What a shell offers in the place of the last word."""
    asked = {"_SECATEUR_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    result = runner.invoke(app, [], env=asked, prog_name="secateur")
    assert result.exit_code == 0, result.output
    return result.output.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["re"], ["resume", "report"]),
        (["bench", ""], BENCHES),
        (["prune", "--sp"], ["--space"]),
        (["prune", "--space", ""], ["small", "medium", "layer", "sublayer", "large"]),
        (["prune", "--searcher", "m"], ["mo-rea", "mo-asha"]),
        (["prune", "--strategy", "s"], ["standard", "sandwich"]),
        (["prune", "--method", "h"], ["head-pruning"]),
        (["prune", "--preset", ""], ["default", "klein2024", "demo"]),
        (["prune", "--device", ""], ["auto", "cpu", "cuda"]),
        (["prune", "--objective", "m"], ["macs", "memory"]),
        (["prune", "--model", "a"], []),  # then the shell offers files
        (["prune", "--to", "a"], []),
        (["design", "--device", "a"], ["auto"]),
        (["design", "--backbone", ""], ["gpt2", "transformer_xl"]),
        (["measure", "model", "--runtime", "o"], ["onnx", "onnx-int8", "onnx-int4"]),
        (["evaluate", "model", "--preset", ""], ["lts14"]),
        (["evaluate", "model", "--device", "c"], ["cpu", "cuda"]),
    ],
)
def test_completion(words: list[str], offered: list[str]) -> None:
    assert completed("secateur", *words) == offered


def test_completion_of_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("runs/rte", "runs/phone", "mine", "other"):
        (tmp_path / name).mkdir(parents=True)
        if name != "other":
            (tmp_path / name / "config.yaml").touch()
    monkeypatch.chdir(tmp_path)
    for verb in ("front", "report", "resume", "export", "train"):
        assert completed("secateur", verb, "") == ["mine", "runs/phone", "runs/rte"]
    assert completed("secateur", "front", "runs/r") == ["runs/rte"]
    assert completed("secateur", "front", str(tmp_path / "m")) == [str(tmp_path / "mine")]
    assert completed("secateur", "front", "[") == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_completion_in_a_shell(tmp_path: Path) -> None:
    """As a user sets it up. Nothing heavy is loaded."""
    script = tmp_path / "secateur"
    script.write_text(f"#!{sys.executable}\nfrom secateur.cli import main\nmain()\n")
    script.chmod(0o755)
    lines = (
        'eval "$(secateur --show-completion)"',
        "COMP_WORDS=(secateur prune --space me); COMP_CWORD=3",
        "PYTHONPROFILEIMPORTTIME=1 _secateur_completion secateur",
        'echo "${COMPREPLY[*]}"',
    )
    path = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    found = subprocess.run(["bash", "-c", "\n".join(lines)], capture_output=True, text=True, check=True, env=path, timeout=120)
    assert found.stdout.split() == ["medium"], found.stderr
    imported = re.findall(r"\| +([\w.]+)$", found.stderr, re.MULTILINE)
    assert "secateur.cli" in imported
    assert not {"torch", "transformers", "pandas", "scipy", "sqlalchemy", "rich"} & set(imported)


def test_all_faults_at_once(model: str, tmp_path: Path) -> None:
    lines = faults(
        "prune", "--model", "./nowhere", "--data", str(tmp_path / "none.csv"), "--space", "smal", "--searcher", "rndom",
        "--strategy", "fulll", "--objective", "error", "--objective", "latancy", "--epochs", "-1", "--trials", "0",
    )  # fmt: skip
    text = "\n".join(lines)
    for said in ("`./nowhere`", "none.csv", "`small`", "`random`", "`full`", "`latency`", "`--epochs`", "`--trials`"):
        assert said in text
    assert len(lines) == 8


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--objective", "parameters"], "first objective must be `error`"),
        (["--objective", "error", "--objective", "error"], "twice"),
        (["--objective", "error", "--objective", "latency<=fast"], "not a bound"),
        (["--polish-at", "half"], "`half` is not a bound"),
        (["--mixed-precision", "fp8"], "unknown mixed precision `fp8`"),
        (["--preset", "best"], "unknown preset `best`"),
        (["--text", "review"], "`text`, `label`"),
        (["--k", "-2"], "`--k` must be at least 0"),
        (["--validation-share", "1.5"], "`--validation-share` must be above 0 and below 1"),
        (["--temperature", "0"], "`--temperature` must be above 0"),
    ],
)
def test_one_fault_one_line(arguments: list[str], said: str, model: str, data: str, tmp_path: Path) -> None:
    lines = faults("prune", "--model", model, "--data", data, "--to", str(tmp_path / "run"), *arguments)
    assert len(lines) == 1
    assert said in lines[0]
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "empty"),
        ("text,label\n", "no rows"),
        ("text,label\n" + "yes,1\n" * 30, "one class"),
        ("text,label\n" + "yes,1\nno,\n" * 20, "missing"),
    ],
)
def test_bad_data(content: str, said: str, tmp_path: Path, model_dir: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(content)
    lines = faults("prune", "--model", model_dir, "--data", str(path), "--to", str(tmp_path / "run"), "--quiet")
    assert len(lines) == 1
    assert "bad.csv" in lines[0] or said in lines[0]


@pytest.fixture
def model_dir(tmp_path: Path) -> str:
    """A model whose tokenizer loads: data are read with it."""
    from secateur.testing.models import toy_model
    from secateur.testing.toy_tokenizer import toy_tokenizer

    folder = tmp_path / "tiny"
    toy_model("bert").save_pretrained(folder)
    toy_tokenizer(["yes", "no"], max_length=16).save_pretrained(folder)
    return str(folder)


def test_labels_that_are_no_numbers(tmp_path: Path, model_dir: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("text,label\n" + "yes,1.5\nno,often\n" * 20)
    lines = faults(
        "prune", "--model", model_dir, "--data", str(path), "--kind", "regression", "--to", str(tmp_path / "run"), "--quiet"
    )
    assert "a number in row 1, a word in row 2" in lines[0]


def test_unknown_family(tmp_path: Path, data: str) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "mamba"}')
    (line,) = faults("prune", "--model", str(folder), "--data", data)
    assert "`mamba`" in line
    assert "distilbert" in line
    assert "own-model-family.md" in line


def test_damaged_model(tmp_path: Path, model_dir: str, data: str) -> None:
    (Path(model_dir) / "model.safetensors").write_bytes(b"nonsense")
    (line,) = faults("prune", "--model", model_dir, "--data", data, "--to", str(tmp_path / "run"), "--quiet")
    assert model_dir in line.replace("\n", "")


def test_ranges_that_do_not_fit(tmp_path: Path, model_dir: str, data: str) -> None:
    (line,) = faults(
        "prune", "--model", model_dir, "--data", data, "--to", str(tmp_path / "run"), "--quiet", "--heads", "4..99"
    )
    assert "`--heads` must lie in" in line


def test_verbs_on_what_is_no_run(tmp_path: Path) -> None:
    for verb in (["front"], ["report"], ["resume"], ["export", "--to", "x", "--key", "a"]):
        (line,) = faults(verb[0], str(tmp_path), *verb[1:])
        assert "is not a run" in line
    (line,) = faults("front", str(tmp_path / "none"))
    assert "there is no run folder" in line


def test_which_network_is_to_be_said(pruned: Path, tmp_path: Path) -> None:
    for arguments in ([], ["--key", "a", "--under", "parameters=1"]):
        (line,) = faults("export", str(pruned), "--to", str(tmp_path / "x"), *arguments)
        assert "either --under body_parameters=50% or --key" in line
    (line,) = faults("export", str(pruned), "--under", "body_parameters=90%")
    assert "say where to" in line


def test_version() -> None:
    assert runner.invoke(app, ["--version"]).output.strip() == __version__


def test_as_a_module(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["secateur", "--version"])
    with pytest.raises(SystemExit):
        runpy.run_module("secateur", run_name="__main__")
    assert capsys.readouterr().out.strip() == __version__
