"""Named datasets: their cards, where their files are, and what they contain.

May import the rest of `data`; `data` itself reads cards only in `sources`.
"""
