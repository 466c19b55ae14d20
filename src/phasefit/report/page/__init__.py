"""Reports as web pages, one self-contained file each: the parts that the pages of runs and of studies are made of.

`shell` is the page, `parts`, `table` and `chart` are what can stand on it, `html` and `embed` keep texts of users from
being read as markup. The look and the behaviour are in `assets/`, inlined when a page is written; the plotting library
there is Apache ECharts. Nothing here knows what a run is but the files named `run_...`.
"""

from phasefit.report.page.chart import Chart, Group
from phasefit.report.page.html import Html, tag, user_text
from phasefit.report.page.parts import Figure, code, facts, figures, notes, paragraph, side_by_side, titled, unfolded
from phasefit.report.page.shell import Page, Section, write_page
from phasefit.report.page.table import Cell, Column, table

__all__ = [
    "Cell",
    "Chart",
    "Column",
    "Figure",
    "Group",
    "Html",
    "Page",
    "Section",
    "code",
    "facts",
    "figures",
    "notes",
    "paragraph",
    "side_by_side",
    "table",
    "tag",
    "titled",
    "unfolded",
    "user_text",
    "write_page",
]
