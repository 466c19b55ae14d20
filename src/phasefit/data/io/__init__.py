"""Read and write files: CSV, TSV, JSON, Parquet, Excel, plain lines, and datasets from the hub.

`frames` reads and writes all formats with the other modules. May import errors; pandas only inside functions.
"""
