"""The pictures of a run, one file each. Each function takes plain data out of a run's JSON and writes a PNG and an SVG.

They draw with matplotlib's objects, never with pyplot: no global state, no window, any thread.
"""

from phasefit.runner.figures.classes import class_bars_figure
from phasefit.runner.figures.confusion import confusion_figure
from phasefit.runner.figures.geometry import geometry_figure
from phasefit.runner.figures.history import history_figure
from phasefit.runner.figures.map import map_figure
from phasefit.runner.figures.reliability import reliability_figure
from phasefit.runner.figures.scatter import scatter_figure

__all__ = [
    "class_bars_figure",
    "confusion_figure",
    "geometry_figure",
    "history_figure",
    "map_figure",
    "reliability_figure",
    "scatter_figure",
]
