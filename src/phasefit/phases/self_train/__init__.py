"""Self-train: pseudo-labels for unlabelled texts, in rounds that must prove themselves on labelled rows.

`options` holds the options, without torch; `phase` is the step; `segments` is the order in which encoders are trained;
`named` are the class texts; `guard` decides whether a round is kept. May import what `phases` may.
"""
