"""Learning curves: compressed, predicted from architectures with their noise, and extrapolated."""
