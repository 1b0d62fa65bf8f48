"""Published tables of trained cells, in the files that their authors and others give out."""

from secateur.tables.nasbench.formats import Published, published, recognised

__all__ = ["Published", "published", "recognised"]
