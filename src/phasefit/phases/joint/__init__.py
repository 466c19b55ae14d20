"""Joint: denoise and contrast in one phase."""
