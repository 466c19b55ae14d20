"""`simcse`, `mirror` and `mnr`: match the sides of a row, with the other rows of the batch as negatives.

`options` holds the options, without torch; `phase` is the step they share; `sides` defines the sides of a row (two
views of a text, or a pair); the file of each phase chooses among them. May import what `phases` may.
"""
