"""A study in memory: for searches on tables and for tests. It ends with its process."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from secateur.errors import StudyError
from secateur.estimators.together import CacheEntry
from secateur.study.store import Numbers, StageRow, Store, must_have_ended, not_running
from secateur.trial import Status, Trial


class MemoryStore(Store):
    """Lists and dictionaries."""

    name = "memory://"

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        self._trials: list[Trial] = []
        self._ids: set[int | None] = set()
        self._told = 0
        self._known: dict[str, dict[str, CacheEntry]] = {}
        self._meta: dict[str, Any] = {"settings": dict(settings or {})}
        self._curves: dict[str, dict[int, dict[str, float]]] = {}
        self._stages: dict[str, StageRow] = {}

    def begin(self, trial: Trial) -> Trial:
        if trial.id in self._ids:
            raise StudyError(f"`{self.name}`: trial {trial.id} has already been started.")
        self._ids.add(trial.id)
        return self._append(trial, status=Status.RUNNING, started=time.time())

    def _append(self, trial: Trial, **changes: Any) -> Trial:
        stored = replace(trial, number=len(self._trials) + 1, **changes)
        self._trials.append(stored)
        return stored

    def restart(self, trial: Trial) -> None:
        place = self._place(trial)
        self._trials[place] = replace(self._trials[place], started=time.time())

    def _place(self, trial: Trial) -> int:
        place = (trial.number or 0) - 1
        if not 0 <= place < len(self._trials) or self._trials[place].status != Status.RUNNING:
            raise not_running(self.name, trial)
        return place

    def finish(self, trial: Trial, extras: Sequence[Trial] = (), cache: Sequence[CacheEntry] = ()) -> list[Trial]:
        must_have_ended(trial)
        place, now = self._place(trial), time.time()
        ended = replace(trial, started=self._trials[place].started, finished=now, told=self._told)
        self._trials[place] = ended
        told = [ended]
        for number, extra in enumerate(extras, start=self._told + 1):
            told.append(self._append(extra, told=number, started=now, finished=now))
        self._told += len(told)
        for entry in cache:
            self._known.setdefault(entry.key, {})[entry.fingerprint] = entry
        return told

    def add(self, trial: Trial, *, told: bool = False) -> int:
        must_have_ended(trial)
        now = time.time()
        stored = self._append(trial, told=self._told if told else None, started=now, finished=now)
        self._told += told
        assert stored.number is not None
        return stored.number

    def trials(self) -> list[Trial]:
        return list(self._trials)

    def known(self, key: str) -> dict[str, CacheEntry]:
        return self._known.get(key, {})

    def get_meta(self, key: str, default: Any = None) -> Any:
        return self._meta.get(key, default)

    def set_meta(self, key: str, value: Any) -> None:
        self._meta[key] = value

    def log_curve(self, name: str, step: int, values: Numbers) -> None:
        self._curves.setdefault(name, {})[step] = {n: float(v) for n, v in values.items()}

    def curve(self, name: str) -> list[tuple[int, dict[str, float]]]:
        return sorted(self._curves.get(name, {}).items())

    def curves(self) -> list[str]:
        return sorted(self._curves)

    def stages(self) -> list[StageRow]:
        return list(self._stages.values())

    def write_stage(self, row: StageRow) -> None:
        self._stages[row.name] = row
