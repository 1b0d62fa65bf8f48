"""A verb's signature comes from its settings: the API, the command line and the config file have one list of names."""

from __future__ import annotations

import inspect
import pydoc
from pathlib import Path

import pytest

import secateur
from secateur.runs.design.settings import DesignSettings
from secateur.runs.prune.settings import PruneSettings
from secateur.settings import Settings

KEYWORD = inspect.Parameter.KEYWORD_ONLY


@pytest.mark.parametrize(("name", "settings"), [("prune", PruneSettings), ("design", DesignSettings)])
def test_every_setting_is_a_plain_parameter_with_its_default(name: str, settings: type[Settings]) -> None:
    parameters = inspect.signature(getattr(secateur, name)).parameters
    own = {"to", "progress", *(["plan_only"] if name == "prune" else [])}
    assert set(parameters) == {*settings.options(), *own}
    preset = {n for values in settings.presets.values() for n in values}  # type: ignore[attr-defined]
    for setting, option in settings.options().items():
        parameter = parameters[setting]
        if option.positional:
            assert parameter.default is inspect.Parameter.empty
        else:
            assert parameter.kind is KEYWORD
            # what a preset may set is None: the preset's value
            assert parameter.default == (None if setting in preset else settings.usual(setting))
    assert (parameters["to"].default, parameters["progress"].default) == (None, True)


def test_help_shows_them() -> None:
    text = " ".join(pydoc.render_doc(secateur.prune, renderer=pydoc.plaintext).split())  # from 3.13 on, a line for each
    assert "model: str, data: str, *" in text
    assert "trials: int | None = None" in text
    assert "max_length: int = 128" in text
    assert "Find the sub-networks of a pre-trained Transformer" in text
    assert list(inspect.signature(secateur.prune).parameters)[:2] == ["model", "data"]


def test_a_wrong_keyword_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'trails'"):
        secateur.design(trails=3)
    with pytest.raises(TypeError, match="missing a required argument: 'data'"):
        secateur.prune("my-model")
    with pytest.raises(TypeError, match="positional"):
        secateur.design("gpt2")
    with pytest.raises(TypeError, match="'weight'"):
        secateur.measure("my-model", weight=3)


def test_verbs_are_thin() -> None:
    """One file per verb, short: a verb calls what does the work."""
    folder = Path(secateur.__file__).parent / "verbs"
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in folder.glob("*.py")}
    assert [name for name, lines in lengths.items() if lines > 90] == []


def test_python_shows_plain_types_and_what_each_parameter_is_for():
    import inspect

    import secateur

    for name in set(dir(secateur)) & {"demo", "design", "evaluate", "measure", "proxies", "prune", "resume", "train"}:
        shown = str(inspect.signature(getattr(secateur, name)))
        assert not any(word in shown for word in ("Annotated", "typer", "Option", "'Folder'", "'Shown'")), shown
    told = inspect.getdoc(secateur.prune)
    assert "\n\nParameters:\n    model: A folder with a pre-trained Transformer, or a name on the hub.\n" in told
    assert "where you give --seconds instead. By default 100.\n" in told
    assert {"prune", "design", "resume", "open_run", "__version__"} <= set(dir(secateur))
    assert "import_module" not in dir(secateur)
