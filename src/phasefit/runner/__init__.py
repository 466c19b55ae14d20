"""Runner: puts the parts together into a run: prepare, fit, evaluate, save, report.

`request` and `prepare` import no torch, so that a run is begun on disk before the slow imports.
"""
