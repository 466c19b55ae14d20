"""Decoders: reconstruct a text from its sentence vector. May import errors, `models/encoder` and `models/tokens`."""
