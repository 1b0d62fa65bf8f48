"""Width and depth pruning by activations, healed by distillation (Muralidharan et al. 2024: Minitron)."""
