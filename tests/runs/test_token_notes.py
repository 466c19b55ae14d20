"""Texts that the tokenizer cannot read are counted."""

from __future__ import annotations

from phasefit.models.encoder.encoder import load_encoder
from phasefit.models.tokens import tokens as module
from phasefit.runs.fitting.token_notes import token_notes


def test_unknown_tokens_are_counted_per_text(tiny_folder, monkeypatch) -> None:
    encoder = load_encoder(str(tiny_folder))
    tokens = encoder.tokenise(["the song", "龘 靐 song", "龘", "the 龘 song of rain and wind"])
    unknown = encoder.tokenizer.unk_token_id
    ends = zip(tokens.starts[:-1], tokens.starts[1:], strict=True)
    expected = [int((tokens.ids[start:end] == unknown).sum()) for start, end in ends]
    assert tokens.count(unknown).tolist() == expected
    monkeypatch.setattr(module, "PIECE", 3)
    assert tokens.count(unknown).tolist() == expected
    [note] = token_notes(tokens, encoder)
    assert note.warning
    assert "cannot read 2 of 4 texts: a third or more of their tokens are unknown" in note.text
    assert "use a model for their language or script with --model" in note.text
    assert token_notes(encoder.tokenise(["the song"]), encoder) == []
