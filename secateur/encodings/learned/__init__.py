"""Encodings that are learnt from the architectures of a space, nearly all without their accuracies."""

from secateur.encodings.learned.arch2vec_settings import Arch2vecSettings
from secateur.encodings.learned.trained import Trained, TrainedEncoding, fingerprint

__all__ = ["Arch2vecSettings", "Trained", "TrainedEncoding", "fingerprint"]
