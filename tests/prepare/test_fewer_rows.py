"""`--validation-rows` and `--test-rows`: a sample of the rows that were given, said, and the same for the same seed."""

from __future__ import annotations

import pytest

from specs import prepare, run_spec
from tiny import make_table


@pytest.mark.parametrize("part", ["validation", "test"])
def test_so_many_of_the_rows_that_were_given_are_used(part: str) -> None:
    train, other = make_table(30), make_table(20, seed=1)
    tables = {"validation": other, "test": make_table(20, seed=2)}
    seen = {}
    for seed in (0, 0, 1):
        found = prepare(run_spec(train, seed=seed, **tables, **{f"{part}_rows": 8}))
        assert len(getattr(found, part)) == 8
        assert set(getattr(found, part).texts) <= set(tables[part][0])
        assert any(f"8 of the 20 {part} rows are used" in note for note in found.notes)
        seen.setdefault(seed, []).append(list(getattr(found, part).texts))
    assert seen[0][0] == seen[0][1] != seen[1][0]
    assert len(getattr(prepare(run_spec(train, **tables)), part)) == 20
