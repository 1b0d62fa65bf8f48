"""Training networks of cells: the super-network with its architecture, its masks, and single networks. All of it is torch."""
