"""The encoder: a SentenceTransformer of standard modules, where it comes from and what is done to it while training.

Everything that depends on the internals of sentence-transformers or transformers is here, in `encoder`, `hub` and
`quiet`.
"""
