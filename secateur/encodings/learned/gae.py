"""The graph autoencoders of Kipf & Welling (2016), as deep and wide as arch2vec, to be compared with it. Imports torch."""

from __future__ import annotations

from secateur.encodings.learned.arch2vec import Arch2vec
from secateur.encodings.learned.gae_settings import GaeSettings, VgaeSettings


class Vgae(Arch2vec):
    """The variational graph autoencoder: graph convolutions."""

    name = "vgae"
    settings = VgaeSettings


class Gae(Arch2vec):
    """The graph autoencoder: graph convolutions, without noise and divergence."""

    name = "gae"
    settings = GaeSettings
