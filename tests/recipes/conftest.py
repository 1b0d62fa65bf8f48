"""Recipes are scripts, not modules of the package: tests load them by their path."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

RECIPES = Path(__file__).resolve().parents[2] / "recipes"


@pytest.fixture(scope="session")
def load_recipe() -> Callable[[str], Any]:
    def load(path: str) -> Any:
        """The script `path` (relative to recipes/) as a module. Scripts of a folder import each other, by names that those of
        other folders have, too."""
        file = RECIPES / path
        spec = importlib.util.spec_from_file_location(f"recipe_{file.stem}", file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # dataclasses look their module up
        beside = {other.stem for folder in (file.parent, RECIPES) for other in folder.glob("*.py")}
        others, found = {name: sys.modules.pop(name) for name in beside & set(sys.modules)}, list(sys.path)
        sys.path.insert(0, str(file.parent))
        try:
            spec.loader.exec_module(module)
        finally:
            sys.path[:] = found
            for name in beside & set(sys.modules):
                del sys.modules[name]
            sys.modules.update(others)
        return module

    return load
