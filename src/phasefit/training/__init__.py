"""Training: the loop, built on Accelerate, with schedule, optimiser, early stopping and checkpoints.

It depends on the interface `Phase`, not on particular phases. The only `backward` of the package is in `gradients`.
May import recipes and what recipes may import.
"""
