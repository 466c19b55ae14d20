"""Tokens: texts as token ids, tokenised once per run, and word noise on them."""
