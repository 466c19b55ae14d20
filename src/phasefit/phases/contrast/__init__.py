"""Contrast: pull texts of one class together, push the others apart (phase 2 of three-phase fine-tuning)."""
