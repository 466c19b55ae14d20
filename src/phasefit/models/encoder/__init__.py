"""The encoder: a SentenceTransformer of standard modules, where it comes from and what is done to it while training.

Everything that depends on the internals of sentence-transformers or transformers is here (and in `decoders/tied`). May
import errors and `models/tokens`.
"""
