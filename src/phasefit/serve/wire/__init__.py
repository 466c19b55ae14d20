"""The wire formats: what a request asks for and how its answer is written, one file per family of endpoints."""
