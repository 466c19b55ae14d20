"""Models, which are saved, loaded, exported and served: an encoder, named heads and their label spaces.

`model` combines them and `storage` reads and writes a model folder. `encoder/` wraps sentence-transformers, `tokens/`
holds tokenised texts, `decoders/` reconstruct texts, `heads` predict, `views/` create augmented versions of a text.

May import errors, seeds, events, files, registry, data, metrics, objectives and kinds. Everything that depends on the
internals of sentence-transformers or transformers is in `encoder/` and `decoders/tied`.
"""
