"""`--validation-rows` and `--test-rows`: a sample of the given rows, with a note, the same for the same seed."""

from __future__ import annotations

import pytest

from specs import prepare, run_spec
from tiny import make_table


@pytest.mark.parametrize("part", ["validation", "test"])
def test_a_sample_of_the_given_rows_is_used(part: str) -> None:
    train, other = make_table(30), make_table(20, seed=1)
    tables = {"validation": other, "test": make_table(20, seed=2)}
    seen = {}
    for seed in (0, 0, 1):
        prepared = prepare(run_spec(train, seed=seed, **tables, **{f"{part}_rows": 8}))
        assert len(getattr(prepared, part)) == 8
        assert set(getattr(prepared, part).texts) <= set(tables[part][0])
        assert any(f"using a random sample of 8 of the 20 {part} rows" in note for note in prepared.notes)
        seen.setdefault(seed, []).append(list(getattr(prepared, part).texts))
    assert seen[0][0] == seen[0][1] != seen[1][0]
    assert len(getattr(prepare(run_spec(train, **tables)), part)) == 20
