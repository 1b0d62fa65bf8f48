"""The settings of `secateur bench pruning`, and what they say of each run of `secateur prune`."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from secateur.catalogue import check, find, listed, names
from secateur.devices.setup import device_fault
from secateur.errors import ConfigurationError, UnknownNameError
from secateur.objectives import bound_on
from secateur.settings import DAY, MOST_TRIALS, Settings, fits, option

EXPERIMENTS = ("spaces", "strategies", "searchers", "methods", "fronts")
#: The method that trains a super-network, and the one that trains every candidate by itself.
SHARED, SEPARATE = "weight-sharing", "standard"
#: What is compared where nothing else is asked for (Klein et al. 2024, section 4).
SPACES = ("small", "medium", "layer", "large")
STRATEGIES = ("standard", "random", "random-linear", "sandwich", "kd", "full")
SEARCHERS = ("random", "local", "mo-rea", "ehvi")
#: What the harness decides for every run.
OWN = ("model", "data", "seed", "method", "to", "progress")
_COMPARED, _AMOUNTS = "What is compared", "How much"


@dataclass(frozen=True, kw_only=True)
class PruningSettings(Settings):
    """A grid of experiments over models, tasks, methods and seeds."""

    experiment: list[str] | None = option(
        None, f"{', '.join(EXPERIMENTS)}; repeat it for several. All by default.", known=EXPERIMENTS
    )
    model: list[str] = option(about="A folder with a pre-trained Transformer, or a name on the hub; repeat it for several.")
    task: list[str] = option(about="Data as `secateur prune` takes it: a file, a folder or glue/rte; repeat it for several.")
    method: list[str] | None = option(None, f"{listed('method', 'prune')}; repeat it for several. All by default.")
    seed: list[int] | None = option(None, "A repetition; repeat it for several. 0 to 4 by default.", least=0, below=2**32)
    seconds: float | None = option(
        None, "End the search of every run so many seconds after it began; by default after --trials.", above=0, most=100 * DAY
    )
    set: list[str] | None = option(
        None, "A setting of every run (epochs=5), or of one method's (standard.trials=20); repeat it for several."
    )
    device: str = option("auto", "cpu, cuda, cuda:N, or auto: a GPU if there is one.")
    keep: bool = option(False, "Keep the networks of all runs, not only what was found.")
    space: list[str] | None = option(None, f"Spaces to compare; by default {', '.join(SPACES)}.", panel=_COMPARED)
    strategy: list[str] | None = option(None, f"Strategies to compare; by default {', '.join(STRATEGIES)}.", panel=_COMPARED)
    searcher: list[str] | None = option(None, f"Searchers to compare; by default {', '.join(SEARCHERS)}.", panel=_COMPARED)
    level: list[str] | None = option(
        None, "Shares of the body's parameters at which methods are compared; by default 10% to 90%.", panel=_COMPARED
    )
    samples: int = option(100, "Random sub-networks scored of each super-network.", panel=_AMOUNTS, least=1, most=MOST_TRIALS)
    sizes: int = option(500, "Random sub-networks counted of each space.", panel=_AMOUNTS, least=1, most=MOST_TRIALS)
    trials: int = option(100, "Trials of each search.", panel=_AMOUNTS, least=1, most=MOST_TRIALS)

    @property
    def experiments(self) -> list[str]:
        return [name for name in EXPERIMENTS if name in (self.experiment or EXPERIMENTS)]

    @property
    def methods(self) -> list[str]:
        return list(dict.fromkeys(self.method or names("method", "prune")))

    @property
    def seeds(self) -> list[int]:
        return list(dict.fromkeys(range(5) if self.seed is None else self.seed))

    @property
    def levels(self) -> list[str]:
        return list(self.level or (f"{share}%" for share in range(10, 100, 10)))

    def compared(self, kind: str) -> list[str]:
        """The spaces, strategies or searchers to compare."""
        usual = {"space": SPACES, "strategy": STRATEGIES, "searcher": SEARCHERS}[kind]
        return list(dict.fromkeys(getattr(self, kind) or usual))

    def changes(self, method: str) -> dict[str, Any]:
        """What `set` says of the runs of a method."""
        found: dict[str, Any] = {}
        for whose, name, value in sorted(map(parsed, self.set or ()), key=lambda one: bool(one[0])):
            if whose in ("", method):
                found[name] = value
        return found

    def contradictions(self) -> list[str]:
        found = super().contradictions()
        given = {"method": self.method, **{kind: getattr(self, kind) for kind in ("space", "strategy", "searcher")}}
        for kind, several in given.items():
            found += [fault for name in several or () if (fault := _unknown(kind, name))]
        for name in ("model", "task"):
            called = Counter(map(called_as, dict.fromkeys(getattr(self, name))))
            found += [
                f"`{name}`: two are called `{n}`, their results could not be told apart." for n, k in called.items() if k > 1
            ]
        for text in self.set or ():
            try:
                parsed(text)
            except ConfigurationError as error:
                found += error.faults
        for text in self.level or ():
            try:
                if not bound_on("body_parameters", text, f"level={text}").relative:
                    found.append(f"`level` must be a share of the parameters such as 30%, got `{text}`.")
            except ConfigurationError as error:
                found += error.faults
        if fault := device_fault(self.device):
            found.append(fault)
        return found


def called_as(source: str) -> str:
    """What a model or a task is called in results: its folder's or file's name, or its name on the hub."""
    path = Path(source)
    if path.name == "model" and path.parent.name:  # of a model in a folder that says nothing
        path = path.parent
    return path.name.partition(".")[0] or source


def _unknown(kind: str, name: str) -> str | None:
    try:
        check(kind, name, "prune")
    except UnknownNameError as error:
        return error.faults[0]
    return None


def parsed(text: str) -> tuple[str, str, Any]:
    """`standard.trials=20` as a method, a setting and its value; the method is empty for all. What can only be a text is
    one, whatever it looks like. Raises ConfigurationError."""
    name, sign, value = text.partition("=")
    whose, _, setting = name.strip().rpartition(".")
    if not sign or not setting:
        raise ConfigurationError(f"`{text}` is not a setting: write epochs=5, or standard.trials=20 for one method.")
    if whose and (fault := _unknown("method", whose)):
        raise ConfigurationError(f"`{text}`: {fault}")
    if setting in OWN:
        raise ConfigurationError(f"`{text}`: `{setting}` is the same for all runs or differs by design: it cannot be set.")
    kind = find("run", "prune").settings
    if setting not in kind.options():
        raise UnknownNameError("setting", setting, kind.options())
    hint, read = kind.hints()[setting], _read(value)
    return whose, setting, value if fits(value, hint) and not fits(read, hint) else read


def _read(value: str) -> Any:
    with suppress(ValueError):
        return int(value)
    with suppress(ValueError):  # YAML takes 1e-4 for a text
        return float(value)
    try:
        return yaml.safe_load(value)
    except yaml.YAMLError:
        return value
