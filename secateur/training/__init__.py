"""Training: the super-network with a strategy, and the polishing of single sub-networks. Its submodules import torch."""
