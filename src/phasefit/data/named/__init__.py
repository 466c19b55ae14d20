"""Named datasets: their cards, the location of their files, and summaries of their content.

May import the rest of `data`; the rest of `data` uses cards only in `sources`.
"""
