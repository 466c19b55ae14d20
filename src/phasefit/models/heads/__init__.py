"""Heads: from the vector of a text, or the two of a pair, to outputs; `kinds` say what these mean."""
