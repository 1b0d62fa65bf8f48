"""A weighted probabilistic model of one curve (Domhan et al. 2015): a mixture of parametric families with noise, whose
parameters and weights are drawn from their posterior by Markov chain Monte Carlo."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np

from secateur.errors import ConfigurationError
from secateur.predictors.curves.extrapolators import Extrapolator
from secateur.predictors.curves.families import FAMILIES, Family
from secateur.rng import Generator, generator

#: Walkers (twice the parameters at least), their steps, and how many of these come before they are believed.
WALKERS, STEPS, BURNT = 100, 600, 200
#: How far walkers stretch (Goodman & Weare 2010), and how much their starts differ, in parts of a parameter's range.
STRETCH, APART = 2.0, 0.01
#: How often starts that the prior excludes are drawn again, half as far apart each time.
CLOSER = 20
#: The ends of the deviation of the noise, and the largest weight of a family.
NOISE, HEAVIEST = (1e-4, 0.2), 1.5
#: The highest end of a family that walkers may begin with, and what it is brought down to: curves end at 1 at most.
HIGHEST, TOP = 1.05, 0.999
#: No accuracy is below this: some are correlations.
LOWEST = -1.0
#: Curves whose ends are kept.
KEPT = 4096


class Wpm(Extrapolator):
    """Each curve by itself. It is seen as one that rises from 0 towards 1: a loss as the share that is gone of its first value,
    an accuracy as it is, or as parts of 100. What is said of a curve depends on that alone, whatever the seed, so that it is
    walked once: searches on tables meet the same ones again and again."""

    name = "wpm"
    learns = False

    def __init__(self, budgets: np.ndarray, seen: int, *, maximised: bool = False, seed: int = 0) -> None:
        super().__init__(budgets, seen, maximised=maximised, seed=seed)
        self.percent = False

    def learn(self, inputs: np.ndarray, curves: np.ndarray) -> None:
        """Whether accuracies are parts of 100, which one of 1 % cannot tell."""
        self.percent = _in_percent(curves)

    def predict(self, inputs: np.ndarray, begun: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = [self._one(values) for values in begun]
        return np.array([mean for mean, _ in found]), np.array([deviation for _, deviation in found])

    def _one(self, values: np.ndarray) -> tuple[float, float]:
        """The mean and the deviation of the end of a curve that begins with these values (seen,)."""
        if self.maximised:
            scale, offset = (100.0 if self.percent or _in_percent(values) else 1.0), 0.0
        else:
            scale, offset = -(abs(float(values[0])) or 1.0), float(values[0])
        scaled = (values - offset) / scale
        if scaled.max() > HIGHEST or (self.maximised and scaled.min() < LOWEST):
            what = "accuracies, shares or parts of 100" if self.maximised else "losses that stay above 0"
            told = ", ".join(f"{value:g}" for value in values)
            raise ConfigurationError(f"`wpm` extrapolates {what}, and not {told}. Take another extrapolator, such as svr.")
        x = 1 + (self.budgets - self.budgets[0]) / (self.budgets[1] - self.budgets[0])
        mean, deviation = ended(tuple(x[: self.seen].tolist()), tuple(scaled.tolist()), float(x[-1]))
        return offset + scale * mean, abs(scale) * deviation


def _in_percent(accuracies: np.ndarray) -> bool:
    return bool((accuracies > 1.5).any())


@lru_cache(KEPT)
def ended(x: tuple[float, ...], y: tuple[float, ...], end: float) -> tuple[float, float]:
    """The mean and the deviation of what a curve with values y at x will be at `end`."""
    ends = posterior(np.array(x), np.array(y), end, generator(0, "wpm", str(y)))
    return float(ends.mean()), float(ends.std())


def posterior(x: np.ndarray, y: np.ndarray, end: float, rng: Generator) -> np.ndarray:
    """Draws of what a curve with values y (t,) at x (t,) will be at `end`, its noise included."""
    mixture = Mixture(x, y, end)
    walkers = mixture.started(rng)
    draws = sampled(mixture.log_posterior, walkers, STEPS, BURNT, rng)
    return mixture.ends(draws) + mixture.noise(draws) * rng.standard_normal(len(draws))


class Mixture:
    """What the walkers walk on: for each family its weight and its parameters, then the logarithm of the noise's deviation."""

    def __init__(self, x: np.ndarray, y: np.ndarray, end: float) -> None:
        self.x, self.y, self.end = x, y, end
        self.at = np.append(x, end)
        lows: list[float] = []
        highs: list[float] = []
        self.places: list[tuple[int, slice]] = []
        for family in FAMILIES:
            start = len(lows)
            self.places.append((start, slice(start + 1, start + 1 + len(family.ranges))))
            lows += [0.0, *(low for low, _, _ in family.ranges)]
            highs += [HEAVIEST, *(high for _, _, high in family.ranges)]
        self.low, self.high = np.array([*lows, np.log(NOISE[0])]), np.array([*highs, np.log(NOISE[1])])

    def started(self, rng: Generator) -> np.ndarray:
        """Walkers (w, p) around a mixture that lies within the prior, all of them within it and no two alike: equal ones could
        not stretch. Raises ConfigurationError where none is found."""
        width = self.high - self.low
        low, high = self.low + 1e-6 * width, self.high - 1e-6 * width
        centres = (np.clip(centre, low, high) for centre in self._centres())
        centre = next((one for one in centres if np.isfinite(self.log_posterior(one[None]))[0]), None)
        if centre is None:
            told = ", ".join(f"{value:g}" for value in self.y)
            raise ConfigurationError(f"`wpm` finds no curve near the values {told}: they must be numbers of about 0 to 1.")
        found = np.clip(centre + APART * width * rng.standard_normal((WALKERS, len(centre))), low, high)
        for closer in range(CLOSER):
            lost = ~np.isfinite(self.log_posterior(found))
            if not lost.any():
                break
            known = np.vstack([centre, found[~lost]])
            around = known[rng.integers(len(known), size=int(lost.sum()))]
            found[lost] = np.clip(around + APART / 2**closer * width * rng.standard_normal(around.shape), low, high)
        return np.asarray(found)

    def _centres(self) -> Iterator[np.ndarray]:
        """Where walkers may begin (p,), the best first: what fits each family best by itself, all families of equal weight;
        those of them that are about within the prior by themselves, since two points hardly bound the others; and a flat curve,
        for values that fall."""
        if not np.isfinite(self.y).all():
            return
        usual = np.zeros(len(self.low))
        for family, (_, own) in zip(FAMILIES, self.places, strict=True):
            usual[own] = [value for _, value, _ in family.ranges]
        fits = [least_squares(family, self.x, self.y) for family in FAMILIES]
        curves = np.array([family(self.at, fit[None])[0] for family, fit in zip(FAMILIES, fits, strict=True)])
        ends = curves[:, -1]
        within = (ends >= curves[:, 0]) & (ends <= HIGHEST)
        for chosen, shares in ((np.ones_like(within), np.ones(len(ends))), (within, TOP / np.maximum(ends, TOP))):
            centre = usual.copy()
            for place in np.flatnonzero(chosen):
                weight, own = self.places[place]
                centre[weight], centre[own] = shares[place] / chosen.sum(), fits[place]
            if chosen.any():
                yield self._with_noise(centre)
        flat = usual.copy()
        weight, own = self.places[[family.name for family in FAMILIES].index("pow3")]
        flat[weight], flat[own] = 1.0, [np.clip(self.y.mean(), -1.0, TOP), 0.0, 0.5]
        yield self._with_noise(flat)

    def _with_noise(self, centre: np.ndarray) -> np.ndarray:
        """The same with the noise of what the values lack of it, away from the ends of its range."""
        left = self.y - self._values(centre[None])[0, :-1]
        return np.append(centre[:-1], np.log(np.clip(left.std(), 3 * NOISE[0], NOISE[1] / 3)))

    def log_posterior(self, walkers: np.ndarray) -> np.ndarray:
        """The logarithm (w,), up to a constant: flat within the ranges, for curves that end above where they begin and at 1 at
        most."""
        inside = ((walkers >= self.low) & (walkers <= self.high)).all(axis=1)
        found = np.full(len(walkers), -np.inf)
        kept = walkers[inside]
        if len(kept):
            values, logs = self._values(kept), kept[:, -1]
            with np.errstate(over="ignore"):
                apart = ((values[:, :-1] - self.y) ** 2).sum(axis=1)
            likelihood = -apart * np.exp(-2 * logs) / 2 - len(self.y) * logs
            rising = (values[:, -1] >= values[:, 0]) & (values[:, -1] <= 1)
            found[inside] = np.where(rising, likelihood, -np.inf)
        return np.where(np.isnan(found), -np.inf, found)

    def ends(self, walkers: np.ndarray) -> np.ndarray:
        """The values (w,) at the end."""
        return np.asarray(self._values(walkers)[:, -1])

    def noise(self, walkers: np.ndarray) -> np.ndarray:
        """The deviations (w,) of the noise."""
        return np.asarray(np.exp(walkers[:, -1]))

    def _values(self, walkers: np.ndarray) -> np.ndarray:
        """The mixtures (w, t + 1) at all x and at the end."""
        parts = (
            walkers[:, [weight]] * family(self.at, walkers[:, own])
            for family, (weight, own) in zip(FAMILIES, self.places, strict=True)
        )
        return np.asarray(sum(parts))


def least_squares(family: Family, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The parameters (p,) of a family that fit values y (t,) at x (t,) best, from its usual ones on, within its ranges."""
    from scipy.optimize import least_squares as minimised

    low, usual, high = (np.array(values) for values in zip(*family.ranges, strict=True))
    with np.errstate(all="ignore"):
        found = minimised(lambda p: family(x, p[None])[0] - y, usual, bounds=(low, high), max_nfev=100)
    return np.asarray(found.x if np.isfinite(found.x).all() else usual)


def sampled(
    log_density: Callable[[np.ndarray], np.ndarray], walkers: np.ndarray, steps: int, burnt: int, rng: Generator
) -> np.ndarray:
    """Draws (k, p) from a density, by walkers (w, p) that stretch towards and away from each other, half of them at a time
    (Goodman & Weare 2010): every tenth of their `steps` after the `burnt` ones."""
    walkers = walkers.copy()
    count, dimensions = walkers.shape
    densities = log_density(walkers)
    halves = np.arange(count) < count // 2
    kept = []
    for step in range(steps):
        for moved in (halves, ~halves):
            mine, others = np.flatnonzero(moved), np.flatnonzero(~moved)
            z = ((STRETCH - 1) * rng.random(len(mine)) + 1) ** 2 / STRETCH
            partners = walkers[rng.choice(others, len(mine))]
            proposed = partners + z[:, None] * (walkers[mine] - partners)
            new = log_density(proposed)
            with np.errstate(invalid="ignore"):
                accepted = np.log(rng.random(len(mine))) < (dimensions - 1) * np.log(z) + new - densities[mine]
            walkers[mine[accepted]], densities[mine[accepted]] = proposed[accepted], new[accepted]
        if step >= burnt and step % 10 == 9:
            kept.append(walkers.copy())
    return np.concatenate(kept)
