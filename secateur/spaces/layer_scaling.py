"""Layer-scaled baselines: a published decoder with more or fewer of its layers, all equal (Javaheripi et al. 2022, section 4).

It is the straightforward way to smaller and larger networks, and what the paper compares its fronts with. Which embeddings its
baselines have is not said there. Here they have those of the published networks: a plain table as wide as the model (GPT-2),
and adaptive embeddings whose factor is 1 (Transformer-XL base on WikiText-103), which is the same. A search that fixes the
factor to 4 is compared fairly with `factor=4`, and one with narrow embeddings with an `embedding` of theirs.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError, UnknownNameError
from secateur.spaces.decoder import architecture


@dataclass(frozen=True)
class Base:
    """The layer that is repeated, and how often in the published network.

    `embedding` None is as wide as the model, 0 plain; both are the same where `factor` is 1.
    """

    name: str
    backbone: str
    width: int
    heads: int
    inner: int
    embedding: int | None = None
    factor: int = 1
    layers: int = 12

    def with_layers(self, layers: int) -> Architecture:
        """The network of that many equal layers, whatever the bounds of a space: keys are made in the same way all the same."""
        if layers < 1:
            raise ConfigurationError(f"`layers` must be at least 1, got {layers}.")
        embedding = self.width if self.embedding is None else self.embedding
        # A plain table has no clusters to divide.
        factor = self.factor if embedding else 1
        return architecture(self.backbone, self.width, [self.heads] * layers, [self.inner] * layers, embedding, factor)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Width, heads and inner width of a layer."""
        return self.width, self.heads, self.inner

    def title(self, layers: int) -> str:
        """What to call it: `GPT-2 small, 6 layers`."""
        return f"{self.name}, {layers} layer{'' if layers == 1 else 's'}"


#: GPT-2 small (Radford et al. 2019); Transformer-XL base of WikiText-103 (Dai et al. 2019): 10 heads of 41.
BASES = {
    "gpt2": Base("GPT-2 small", "gpt2", width=768, heads=12, inner=3072),
    "transformer_xl": Base("Transformer-XL base", "transformer_xl", width=410, heads=10, inner=2100, layers=16),
}
#: The baselines in the public code of Javaheripi et al. (2022). Its GPT-2 has 12 heads, which do not divide a width of 1,024:
#: here it has 16.
AUTHORS = {
    "gpt2": Base("LTS's GPT-2", "gpt2", width=1024, heads=16, inner=2048, embedding=784, factor=4, layers=16),
    "transformer_xl": Base(
        "LTS's Transformer-XL", "transformer_xl", width=512, heads=8, inner=2048, embedding=512, factor=4, layers=16
    ),
}


def base_of(
    backbone: str,
    *,
    width: int | None = None,
    heads: int | None = None,
    inner: int | None = None,
    embedding: int | None = None,
    factor: int | None = None,
) -> Base:
    """The published base of a backbone, changed as given; its name says so where its layers are no longer the published ones.

    Raises UnknownNameError for another backbone, ConfigurationError where the numbers do not go together.
    """
    if backbone not in BASES:
        raise UnknownNameError("backbone", backbone, BASES)
    published = BASES[backbone]
    sizes = {"width": width, "heads": heads, "inner": inner}
    given = {name: value for name, value in {**sizes, "factor": factor}.items() if value is not None}
    wrong = [f"`{name}` must be at least 1, got {value}" for name, value in given.items() if value < 1]
    if embedding is not None and embedding < 0:
        wrong.append(f"`embedding` must be at least 0 (plain), got {embedding}")
    if wrong:
        raise ConfigurationError(f"a layer-scaled baseline cannot be made: {'; '.join(wrong)}.")
    base = dataclasses.replace(
        published,
        width=given.get("width", published.width),
        heads=given.get("heads", published.heads),
        inner=given.get("inner", published.inner),
        embedding=embedding,
        factor=given.get("factor", published.factor),
    )
    if base.width % base.heads:
        raise ConfigurationError(
            f"`width` must be a multiple of `heads`, got {base.width} and {base.heads}. Change one of them."
        )
    if base.shape != published.shape:
        return dataclasses.replace(base, name=f"{base.name.split()[0]} {base.width} wide")
    return base
