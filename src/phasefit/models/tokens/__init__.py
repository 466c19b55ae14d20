"""Tokens: texts as token ids, tokenised once per run, and word noise on them.

May import errors, data, and what `models` has of encoders and heads, which tokens are made for.
"""
