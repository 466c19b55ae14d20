"""Cosine: an encoder whose cosines are what the labels of pairs say (Reimers and Gurevych, 2019).

`options` is what a recipe may say, without torch; `phase` is the step. May import what `phases` may.
"""
