"""Cosine: an encoder whose cosines are what the labels of pairs say (Reimers and Gurevych, 2019)."""
