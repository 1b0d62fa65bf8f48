"""Networks of DARTS' cells: built from an architecture, or as the super-network of all of them. Its submodules import torch."""
