"""The pictures of a run, one file each. Each function takes plain data out of a run's JSON and writes a PNG.

They draw with matplotlib's objects, never with pyplot: no global state, no window, any thread.
"""

from phasefit.runner.figures.classes import class_bars_figure
from phasefit.runner.figures.confusion import confusion_figure
from phasefit.runner.figures.history import history_figure

__all__ = ["class_bars_figure", "confusion_figure", "history_figure"]
