"""What reports show, computed once: plain dataclasses that the card, the page, the pictures and tables only draw."""
