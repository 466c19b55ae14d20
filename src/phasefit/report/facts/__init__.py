"""The content of reports, computed once as plain dataclasses that the card, the page and the pictures draw."""
