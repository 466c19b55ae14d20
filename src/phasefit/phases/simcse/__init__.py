"""SimCSE: a text encoded twice, dropout being the only noise; or, supervised, pairs and hard negatives."""
