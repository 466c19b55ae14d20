"""`simcse`, `mirror` and `mnr`: sides that belong together, told from those of the batch's other rows.

`options` is what a recipe may say, without torch; `phase` is the step they share, `sides` what the sides of a row are;
the file of a kind says which sides it takes. May import what `phases` may.
"""
