"""The model card: a run's README.md, in Markdown."""
