"""LightGBM where it is missing, or what it needs is."""

from __future__ import annotations

import builtins
from typing import Any

import pytest

from secateur.errors import MissingExtraError, SecateurError
from secateur.predictors.boosting import lightgbm


@pytest.mark.parametrize(
    ("fault", "kind", "said"),
    [
        (ModuleNotFoundError("No module named 'lightgbm'"), MissingExtraError, r"pip install 'secateur\[trees\]'"),
        (OSError("libgomp.so.1: cannot open shared object file"), SecateurError, "libgomp.so.1.*apt-get install libgomp1"),
    ],
)
def test_what_is_missing_is_named(fault: Exception, kind: type, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = builtins.__import__

    def failing(name: str, *more: Any, **given: Any) -> Any:
        if name == "lightgbm":
            raise fault
        return usual(name, *more, **given)

    monkeypatch.setattr(builtins, "__import__", failing)
    with pytest.raises(kind, match=said):
        lightgbm()
