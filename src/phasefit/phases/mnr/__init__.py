"""MNR: multiple negatives ranking on pairs and triples of texts."""
