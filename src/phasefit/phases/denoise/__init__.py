"""Denoise: rebuild a clean text from the one vector of its noised copy (phase 1 of three-phase fine-tuning)."""
