"""Without a network the hub is asked once, and what was fetched before is all there is."""

from __future__ import annotations

from typing import Any

import pytest

from secateur.errors import DataError
from secateur.tasks.hub import hub
from secateur.tasks.sources import read, resolve

constants = pytest.importorskip("huggingface_hub.constants")


class Session:
    def __init__(self, error: Exception | None) -> None:
        self.error, self.asked = error, 0

    def head(self, address: str, **_: Any) -> None:
        self.asked += 1
        if self.error is not None:
            raise self.error


@pytest.mark.parametrize("error", [None, ConnectionError("no route"), RuntimeError("of another library")])
def test_it_is_asked_once(error: Exception | None, monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(error)
    monkeypatch.setattr("huggingface_hub.get_session", lambda: session)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with hub():
        assert (error is not None) == constants.HF_HUB_OFFLINE
    assert constants.HF_HUB_OFFLINE is False
    assert session.asked == 1
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with hub():
        pass
    assert session.asked == 1


def test_advice_that_is_followed_already_is_not_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr("huggingface_hub.get_session", lambda: Session(ConnectionError()))
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: (_ for _ in ()).throw(OSError("nothing there")))
    monkeypatch.delenv("SECATEUR_DATA", raising=False)
    with pytest.raises(DataError, match="or set SECATEUR_DATA to a folder of such folders"):
        read(resolve("glue/rte"))
    monkeypatch.setenv("SECATEUR_DATA", str(tmp_path))
    with pytest.raises(DataError, match=f"or put one named rte into `{tmp_path}`, as SECATEUR_DATA says"):
        read(resolve("glue/rte"))
