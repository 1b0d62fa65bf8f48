"""An architecture as a value: the name of its space and its choices. Knows nothing of torch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Value = int | float | str | tuple["Value", ...]


_PLAIN = frozenset((int, float, str))


def _frozen(value: Any) -> Value:
    if type(value) in (list, tuple):
        return tuple(value) if _PLAIN.issuperset(map(type, value)) else tuple([_frozen(v) for v in value])
    if isinstance(value, bool) or not isinstance(value, int | float | str | list | tuple):
        raise TypeError(f"a choice is a number, a string or a list of these, got `{value!r}`")
    return tuple(_frozen(v) for v in value) if isinstance(value, list | tuple) else value


@dataclass(frozen=True)
class Architecture:
    """One point of a space.

    `key` is the canonical identity: equal networks have equal keys, whatever space they were drawn from. Spaces compute it;
    de-duplication, caches, storage and reports use it.
    """

    space: str
    choices: tuple[tuple[str, Value], ...]
    key: str

    @classmethod
    def of(cls, space: str, choices: Mapping[str, Any], key: str) -> Architecture:
        return cls(space, tuple((name, _frozen(value)) for name, value in choices.items()), key)

    def __getitem__(self, name: str) -> Value:
        for known, value in self.choices:
            if known == name:
                return value
        raise KeyError(name)

    def as_dict(self) -> dict[str, Any]:
        return {"space": self.space, "choices": dict(self.choices), "key": self.key}

    def to_json(self) -> str:
        return json.dumps(self.as_dict(), separators=(",", ":"))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Architecture:
        space, key = data["space"], data["key"]
        if not isinstance(space, str) or not isinstance(key, str):
            raise TypeError(f"a space and a key are texts, got `{space!r}` and `{key!r}`")
        return cls.of(space, data["choices"], key)

    @classmethod
    def from_json(cls, text: str) -> Architecture:
        return cls.from_dict(json.loads(text))

    def __str__(self) -> str:
        parts = []
        for name, value in self.choices:
            text = "·".join(map(str, value)) if isinstance(value, tuple) else str(value)
            parts.append(f"{name}={text if len(text) <= 40 else text[:37] + '…'}")
        return f"{self.space}({', '.join(parts)})"


def digest(*parts: bytes | str) -> str:
    """The short hash that keys and fingerprints are made of: 16 hexadecimal digits."""
    state = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()[:16]
