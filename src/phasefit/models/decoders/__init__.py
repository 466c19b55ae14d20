"""Decoders: what rebuilds a text from its sentence vector."""
