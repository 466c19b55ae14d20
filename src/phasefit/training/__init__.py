"""Training: the one loop, over Accelerate, and what it needs: schedules, optimiser, early stopping, checkpoints.

It knows what a Phase promises, not which phases exist. The only `backward` of the package is in `gradients`. May import
recipes and what recipes may import.
"""
