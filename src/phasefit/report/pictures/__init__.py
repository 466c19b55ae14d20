"""The pictures of a run, one file each. Each function takes plain data out of a run's JSON and writes a PNG and an SVG.

They draw with matplotlib's objects, never with pyplot: no global state, no window, any thread.
"""

from phasefit.report.pictures.classes import class_bars_figure
from phasefit.report.pictures.confusion import confusion_figure
from phasefit.report.pictures.geometry import geometry_figure
from phasefit.report.pictures.history import history_figure
from phasefit.report.pictures.map import map_figure
from phasefit.report.pictures.reliability import reliability_figure
from phasefit.report.pictures.scatter import scatter_figure

__all__ = [
    "class_bars_figure",
    "confusion_figure",
    "geometry_figure",
    "history_figure",
    "map_figure",
    "reliability_figure",
    "scatter_figure",
]
