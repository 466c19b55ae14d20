"""Reports as self-contained web pages: the parts that pages of runs and studies are built from.

`templates/` is the markup: `page.html` is the page, `parts.html` has its elements, `run/` and `study/` the sections.
`render` fills them in and escapes the texts of users; `shell` combines sections into a page; `chart` and `plots`
describe charts as data. Styles and scripts are in `assets/` and are inlined when a page is written; the plotting
library is Apache ECharts. Only the files named `run_...` depend on runs.
"""
