"""Files in and out: CSV, TSV, JSON Lines, Parquet, plain lines, and datasets of the hub."""
