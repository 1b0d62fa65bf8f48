"""Training: the super-network with a strategy, and the polishing of single sub-networks. Submodules import torch; this does not."""
