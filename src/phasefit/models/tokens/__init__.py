"""Tokens: texts as token ids, tokenised once per run, and word noise on them.

May import errors, data, and the encoders and heads of `models` that use tokens.
"""
