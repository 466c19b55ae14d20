"""Contrast: pull texts of one class together, push the others apart (phase 2 of three-phase fine-tuning).

`options` holds the options, without torch; `phase` is the step. `grown`, `generated` and `hard` provide the texts it
trains on in addition to the rows of the table; `class_text_loss` compares rows with texts of their classes. May import
what `phases` may.
"""
