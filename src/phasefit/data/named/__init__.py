"""Named datasets: their cards, where their files are, and what they contain."""
