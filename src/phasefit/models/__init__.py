"""Models: the encoder (standard sentence-transformers modules), heads, decoders, and the tokens they read.

What is saved, loaded, exported and served is a `Model`: encoder, named heads, label spaces. May import errors, data,
metrics and objectives. Everything that leans on sentence-transformers or transformers is in `encoder`, `tied_decoder`,
`hub` and `quiet`, so that a new release of theirs is met in one place each.
"""
