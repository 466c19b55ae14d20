"""Files in and out: CSV, TSV, JSON Lines, Parquet, plain lines, and datasets of the hub.

`frames` reads and writes any of them and leans on the others. May import errors; pandas only inside functions.
"""
