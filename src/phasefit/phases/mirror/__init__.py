"""Mirror: two slightly damaged views of a text, told from those of all others (Mirror-BERT)."""
