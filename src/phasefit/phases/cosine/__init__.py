"""Cosine: an encoder whose cosine similarities match the labels of pairs (Reimers and Gurevych, 2019).

`options` holds the options, without torch; `phase` is the step. May import what `phases` may.
"""
