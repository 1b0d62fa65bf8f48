"""What masks cost, and the two ways to keep a budget while they are learnt.

- `schedule`: at each step a threshold for all levels, such that the masks cost what may be spent at that step;
- `lagrangian`: a fixed threshold, and a price on what is spent beyond it that rises as long as too much is.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from secateur.methods.learned_masks.scores import Scores, Switches
from secateur.methods.prices import Constraint, Prices

#: How often an interval of thresholds is halved.
HALVED = 30
#: How steeply the price of spending too much rises: with the share of the whole, and its square.
STEEP = 50.0
#: The part of the steps towards a budget in which it is approached; in the rest it is held.
APPROACH = 0.5


def cost(prices: Prices, switches: Switches) -> torch.Tensor:
    """What is spent, with a gradient."""
    counts = (switches.heads, switches.units, switches.attention, switches.feed_forward)
    heads, units, attention, feed_forward = (part.double().sum() for part in counts)  # of millions each one counts
    return heads * prices.head + units * prices.unit + attention * prices.attention + feed_forward * prices.feed_forward


@dataclass(frozen=True)
class Descent:
    """From the whole network down: `shares` of what it costs, descending, each approached and then held for as many steps."""

    shares: Sequence[float]
    steps: int

    def target(self, done: int) -> float:
        """The share that may be spent after so many steps."""
        place, within = self._place(done)
        before = self.shares[place - 1] if place else 1.0
        return before + (self.shares[place] - before) * min(1.0, within / APPROACH)

    def ends(self) -> dict[int, list[int]]:
        """After how many steps each share has been held to the end: steps → the places of shares, one unless steps are few."""
        found: dict[int, list[int]] = {}
        for place in range(len(self.shares)):
            found.setdefault(max(1, round((place + 1) * self.steps / len(self.shares))), []).append(place)
        return found

    def _place(self, done: int) -> tuple[int, float]:
        """Which share it is at, and how far."""
        at = len(self.shares) * min(done, self.steps) / self.steps
        place = min(int(at), len(self.shares) - 1)
        return place, at - place


@torch.no_grad()
def threshold_for(scores: Scores, prices: Prices, budget: float) -> float:
    """The lowest threshold, from 0 on, at which masks cost at most the budget; one above all scores where nothing fits."""
    if scores.layers.device.type != "cpu":  # each number that is read from a device waits for all that it has to do
        scores = copy.deepcopy(scores).cpu()
    if float(cost(prices, scores.above(0.0))) <= budget:
        return 0.0
    low, high = 0.0, max(float(part.max()) for part in scores.parameters())
    for _ in range(HALVED):
        middle = (low + high) / 2
        if float(cost(prices, scores.above(middle))) <= budget:
            high = middle
        else:
            low = middle
    return high


@torch.no_grad()
def affordable(scores: Scores, constraints: Sequence[Constraint]) -> Switches:
    """What fits, in the order in which a falling threshold lets it in, what comes in together by its own scores. For where any
    threshold leaves too much or nothing: with a layer goes all that it holds."""
    own = [scores.heads.cpu(), scores.units.cpu()]
    layers, groups = scores.layers.cpu()[:, None], scores.groups.cpu().gather(1, scores.members.cpu())
    until = [torch.minimum(layers, own[0]), torch.minimum(torch.minimum(layers, groups), own[1])]
    order = np.lexsort([-torch.cat([part.flatten() for part in some]).numpy() for some in (own, until)])
    found = [np.zeros(part.shape, np.float32) for part in own]
    spent = [0.0] * len(constraints)
    for place in order:
        kind, number = (0, int(place)) if place < own[0].numel() else (1, int(place) - own[0].numel())
        layer = number // own[kind].shape[1]
        once = not found[kind][layer].any()
        costs = [(p.head, p.unit)[kind] + once * (p.attention, p.feed_forward)[kind] for p, _ in constraints]
        after = [one + more for one, more in zip(spent, costs, strict=True)]
        if all(one <= budget for one, (_, budget) in zip(after, constraints, strict=True)):
            found[kind].flat[number], spent = 1.0, after
    return Switches(torch.from_numpy(found[0]), torch.from_numpy(found[1]))


def penalty(scores: Scores, beyond: torch.Tensor) -> torch.Tensor:
    """The augmented Lagrangian of spending a share `beyond` what may be; the multiplier rises with it, and falls, not below 0,
    where less is spent."""
    found = scores.multiplier.clone() * beyond + STEEP * torch.relu(beyond) ** 2 / 2
    with torch.no_grad():
        scores.multiplier.copy_(torch.clamp(scores.multiplier + beyond.detach(), min=0.0))
    return found
