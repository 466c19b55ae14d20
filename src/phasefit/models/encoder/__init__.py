"""The encoder: a SentenceTransformer of standard modules, how it is located, and how training modifies it.

Everything that depends on the internals of sentence-transformers or transformers is here (and in `decoders/tied`). May
import errors and `models/tokens`.
"""
