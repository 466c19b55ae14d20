"""Prepare: from a specification to rows that can be trained on.

`prepare` reads and splits one table, `tasks` each table of a task file. `splitting` decides which rows train, validate
and test, `folds` selects folds and classes, `leaks` removes texts on both sides of a split, `unused_labels` drops
labels that no phase uses, `merge` joins all rows for refitting, and `notes` reports anything worth checking.

May import recipes and everything to their left. It imports no torch.
"""
