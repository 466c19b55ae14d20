"""Reports as web pages, one self-contained file each: the parts that the pages of runs and of studies are made of.

`templates/` is the markup: `page.html` the page, `parts.html` what can stand on it, `run/` and `study/` their sections.
`render` fills them in and keeps texts of users from being read as markup; `shell` puts sections together; `chart` and
`plots` are charts as data. The look and the behaviour are in `assets/`, inlined when a page is written; the plotting
library there is Apache ECharts. Nothing here knows what a run is but the files named `run_...`.
"""
