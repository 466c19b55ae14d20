"""Contrast: pull texts of one class together, push the others apart (phase 2 of three-phase fine-tuning).

`options` is what a recipe may say, without torch; `phase` is the step. `grown`, `generated`, `class_texts` and `hard`
are the texts it trains on besides the rows of the table. May import what `phases` may.
"""
