"""Ways to prune: each is a list of stages that ends in trials. What follows (front, polishing, export, report) is shared."""
