"""What the stages of a pruning run are expected to take, for the time left. Rough, and corrected as they go."""

from __future__ import annotations

from collections.abc import Mapping

from secateur.runs.prune.settings import ETA, PruneSettings
from secateur.runs.timing import Effort

#: A sub-network's cost as a share of the whole one's, on average, and members of a front that are measured and tested.
SHARE, MEMBERS = 0.3, 15
#: Validation examples that formats are scored on, at most, and seconds to export and time the formats of one network.
EXAMPLES, EXPORT = 512, 20.0


def prune_efforts(c: PruneSettings, sizes: Mapping[str, int], method: Mapping[str, float], seconds: float) -> dict[str, Effort]:
    """Stage → effort. `sizes`: examples by split; `method`: passes of its stages; `seconds`: for measuring one network."""
    measured, timed = (any(o.startswith(name) for o in c.objectives) for name in ("memory", "latency"))
    levels = c.levels()
    student = sum(3 * (level.value if level.relative else SHARE) for level in levels)
    polished = (1 + (c.candidates - 1) / ETA) * student * c.polishing().examples_read(sizes["train"]) + sizes["train"]
    found = {stage: Effort(passes) for stage, passes in method.items()}
    found.setdefault("search", Effort(c.trials * SHARE * sizes["validation"], c.trials * seconds * measured))
    found |= {} if c.seconds is None else {"search": Effort(0.0, c.seconds)}
    found |= {"latency model": Effort(0.0, c.fit_seconds)} if timed else {}
    found["polish"] = Effort(polished + len(levels) * SHARE * (sizes["validation"] + sizes["test"]))
    found["measure"] = Effort(0.0, MEMBERS * seconds)
    networks = 2 + len(levels)
    found["formats"] = Effort(networks * 4 * SHARE * min(EXAMPLES, sizes["validation"]), networks * EXPORT)
    found["report"] = Effort(MEMBERS * SHARE * sizes["test"], 2.0)
    return found
