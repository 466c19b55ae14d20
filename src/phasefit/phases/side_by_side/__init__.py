"""What `simcse`, `mirror` and `mnr` share: sides that belong together, and a loss that tells them from the others.

The sides of a row are two views of its text (`two_views`), or its text and those beside it in the table (`partners`).
"""
