"""Training: the loop, recipes, objective, validation and checkpoints."""
