"""Networks to compare a front with, as architectures."""
