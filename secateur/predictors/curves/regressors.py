"""From architectures to the codes of their curves: boosted trees of two libraries, and a network."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from secateur.errors import MissingExtraError, StudyError
from secateur.predictors.boosting import lightgbm
from secateur.predictors.curves.part import ArraysPart, Part, unfit
from secateur.predictors.perceptrons import Perceptrons, trained
from secateur.rng import generator
from secateur.writing import whole

#: So many predictions at once are worth all cores.
MANY = 1000


class Regressor(Part):
    """From inputs (n, d) to targets (n, k), several at once."""

    @classmethod
    @abstractmethod
    def fitted(cls, inputs: np.ndarray, targets: np.ndarray, seed: int) -> Self:
        """Fitted to targets (n, k) at inputs (n, d)."""

    @abstractmethod
    def predict(self, inputs: np.ndarray) -> np.ndarray:
        """The predictions (n, k) for inputs (n, d)."""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """How many targets k there are."""


class Boosted(Regressor):
    """Boosted trees, one ensemble for each target."""

    #: How the files of one ensemble end.
    suffix: str

    def __init__(self, boosters: Sequence[Any]) -> None:
        self.boosters = list(boosters)

    @property
    def outputs(self) -> int:
        return len(self.boosters)

    def write(self, stem: Path) -> None:
        for number, booster in enumerate(self.boosters):
            with whole(self._file(stem, number)) as draft:
                draft.write_text(self._text(booster), encoding="utf-8")

    @classmethod
    def read(cls, stem: Path) -> Self:
        files: list[Path] = []
        while (path := cls._file(stem, len(files))).is_file():
            files.append(path)
        if not files:
            raise StudyError(f"`{cls._file(stem, 0)}` is missing: the surrogate is not whole.")
        return cls([cls._booster(path) for path in files])

    @classmethod
    def _file(cls, stem: Path, number: int) -> Path:
        return stem.with_name(f"{stem.name}-{number}{cls.suffix}")

    @classmethod
    @abstractmethod
    def _booster(cls, path: Path) -> Any:
        """The ensemble of a file. Raises StudyError."""

    @abstractmethod
    def _text(self, booster: Any) -> str:
        """An ensemble as its library writes it."""


class LightGbm(Boosted):
    """LightGBM (Ke et al. 2017)."""

    name = "lgb"
    suffix = ".txt"

    @classmethod
    def fitted(cls, inputs: np.ndarray, targets: np.ndarray, seed: int) -> Self:
        library = lightgbm()
        settings = {
            "objective": "l2",
            "learning_rate": 0.05,
            "num_leaves": 15,
            "min_data_in_leaf": 5,
            "min_data_in_bin": 1,
            "feature_fraction": 0.8,
            "bagging_fraction": 0.8,
            "bagging_freq": 1,
            "seed": seed,
            "verbose": -1,
            "num_threads": 1,
            "deterministic": True,
            "force_row_wise": True,
        }
        return cls([library.train(settings, library.Dataset(inputs, y, params=settings), 300) for y in targets.T])

    def predict(self, inputs: np.ndarray) -> np.ndarray:
        threads = (os.cpu_count() or 1) if len(inputs) >= MANY else 1
        return np.column_stack([booster.predict(inputs, num_threads=threads) for booster in self.boosters])

    def _text(self, booster: Any) -> str:
        return str(booster.model_to_string())

    @classmethod
    def _booster(cls, path: Path) -> Any:
        library = lightgbm()
        text = path.read_text(encoding="utf-8", errors="replace")
        if not text.startswith("tree"):  # the library would end the process, or read something else out of it
            raise unfit(path, ValueError("it is not a model of LightGBM"))
        try:
            return library.Booster(model_str=text)
        except library.basic.LightGBMError as error:
            raise unfit(path, error) from error


class XgBoost(Boosted):
    """XGBoost (Chen & Guestrin 2016)."""

    name = "xgb"
    suffix = ".json"

    @classmethod
    def fitted(cls, inputs: np.ndarray, targets: np.ndarray, seed: int) -> Self:
        library = xgboost()
        settings = {
            "objective": "reg:squarederror",
            "eta": 0.05,
            "max_depth": 4,
            "min_child_weight": 2,
            "subsample": 0.8,
            "colsample_bytree": 0.8,
            "seed": seed,
            "nthread": 1,
            "verbosity": 0,
        }
        return cls([library.train(settings, library.DMatrix(inputs, y), 300) for y in targets.T])

    def predict(self, inputs: np.ndarray) -> np.ndarray:
        matrix = xgboost().DMatrix(inputs)
        return np.column_stack([booster.predict(matrix).astype(np.float64) for booster in self.boosters])

    def _text(self, booster: Any) -> str:
        return bytes(booster.save_raw("json")).decode("utf-8")

    @classmethod
    def _booster(cls, path: Path) -> Any:
        library = xgboost()
        booster = library.Booster()
        try:
            booster.load_model(bytearray(path.read_bytes()))
        except library.core.XGBoostError as error:
            raise unfit(path, ValueError("it is not a model of XGBoost")) from error
        return booster


class Mlp(ArraysPart, Regressor):
    """A few fully connected networks, of which the mean counts."""

    name = "mlp"

    def __init__(self, networks: Perceptrons, scales: Mapping[str, np.ndarray]) -> None:
        #: Centre and spread of inputs and targets.
        self.networks, self.scales = networks, scales

    @classmethod
    def fitted(cls, inputs: np.ndarray, targets: np.ndarray, seed: int) -> Self:
        scales: dict[str, np.ndarray] = {}
        for name, values in (("inputs", inputs), ("targets", targets)):
            spread = values.std(axis=0)
            scales |= {f"{name}_centre": values.mean(axis=0), f"{name}_spread": np.where(spread > 0, spread, 1.0)}
        x = (inputs - scales["inputs_centre"]) / scales["inputs_spread"]
        y = (targets - scales["targets_centre"]) / scales["targets_spread"]
        networks = trained(x, y, generator(seed, "mlp"), hidden=[64, 64], members=4, steps=600, rate=0.005, decay=0.3)
        return cls(networks, scales)

    def predict(self, inputs: np.ndarray) -> np.ndarray:
        s = self.scales
        found = self.networks.predict((inputs - s["inputs_centre"]) / s["inputs_spread"]).mean(axis=0)
        return np.asarray(found * s["targets_spread"] + s["targets_centre"])

    @property
    def outputs(self) -> int:
        return int(self.scales["targets_spread"].shape[0])

    def arrays(self) -> Mapping[str, np.ndarray]:
        layers = enumerate(self.networks.layers)
        return {**self.scales, **{f"{kind}_{n}": a for n, pair in layers for kind, a in zip("wb", pair, strict=True)}}

    @classmethod
    def of(cls, **arrays: np.ndarray) -> Self:
        layers: list[tuple[np.ndarray, np.ndarray]] = []
        while f"w_{len(layers)}" in arrays:
            layers.append((arrays.pop(f"w_{len(layers)}"), arrays.pop(f"b_{len(layers)}")))
        wanted = {f"{name}_{what}" for name in ("inputs", "targets") for what in ("centre", "spread")}
        if set(arrays) != wanted or not layers:
            raise ValueError("its arrays are not those of a network")
        return cls(Perceptrons(layers, "relu"), arrays)


def xgboost() -> Any:
    """The library. Raises MissingExtraError where it is not installed."""
    try:
        import xgboost as library
    except ImportError:
        raise MissingExtraError("xgboost", "curves") from None
    return library
