"""What D-VAE is trained with."""

from __future__ import annotations

from dataclasses import dataclass

from secateur.encodings.learned.arch2vec_settings import Arch2vecSettings
from secateur.encodings.learned.settings import LearnerSettings
from secateur.settings import option, shared


@dataclass(frozen=True, kw_only=True)
class DvaeSettings(LearnerSettings):
    """The settings of D-VAE (Zhang et al. 2019), whose authors have 501 units and train for hundreds of epochs."""

    epochs: int = shared(LearnerSettings, "epochs", 5)
    learning_rate: float = shared(LearnerSettings, "learning_rate", 2e-3)
    width: int = option(128, "Units of a node's state.", least=1, most=4096)
    latent: int = option(56, "Numbers per embedding.", least=1, most=4096)
    kl_weight: float = shared(Arch2vecSettings, "kl_weight")
    noise: float = option(0.01, "Deviations of noise: 1 in the text, 0.01 in the released code.", least=0, most=10)
    bidirectional: bool = option(True, "Read graphs from their end too.")
