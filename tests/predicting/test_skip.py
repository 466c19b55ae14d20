"""Rows that cannot be read: refused with their place, or left out and listed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from phasefit.data.io.frames import read_frame
from sharded import content, invoke, save_small

CSV = b'text,id\ngood,1\nbad,2,3\nb\xffd,4\n"the",5\n"stray"x,6\nna\0,7\ngood,8\n"open,9\ngood,10\n'
JSONL = b'{"text": "good", "id": 1}\n{"text": 5, "id": 2}\nnot json\n[1]\n{"text": "b\xffd"}\n\n{"text": "", "id": 6}\n'


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small(tmp_path_factory.mktemp("model") / "run")


def skipped(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_csv(model: Path, tmp_path: Path, rows: int) -> None:
    (tmp_path / "in.csv").write_bytes(CSV)
    words = ["predict", model, tmp_path / "in.csv", "--threads", "1", "--shard-rows", rows]
    refused = invoke(*words, "-o", tmp_path / "out.csv")
    assert refused.exit_code == 2
    assert "in.csv, row 2 (line 3): expected 2 columns, found 3" in refused.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv"]
    result = invoke(*words, "-o", tmp_path / "out.csv", "--on-error", "skip")
    assert result.exit_code == 0, result.output
    assert "5 rows cannot be read and are left out" in result.stderr
    assert read_frame(tmp_path / "out.csv")["id"].tolist() == ["1", "5", "8", "10"]
    left = skipped(tmp_path / "out.csv.skipped.jsonl")
    assert [(one["row"], one["line"]) for one in left] == [(2, 3), (3, 4), (5, 6), (6, 7), (8, 9)]
    reasons = ["expected 2 columns", "invalid UTF-8", "bad quoting", "NUL", "a quote is not closed"]
    assert all(reason in str(one["reason"]) for one, reason in zip(left, reasons, strict=True))


def test_json_lines(model: Path, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(JSONL)
    words = ["predict", model, tmp_path / "in.jsonl", "--threads", "1", "--shard-rows", 2]
    refused = invoke(*words, "-o", f"{tmp_path}/out/")
    assert "in.jsonl, line 3: not valid JSON" in refused.stderr
    assert not (tmp_path / "out").exists()
    for _ in range(2):  # the second time, all is done
        result = invoke(*words, "-o", f"{tmp_path}/out/", "--on-error", "skip")
        assert result.exit_code == 0, result.output
        assert "4 rows cannot be read" in result.stderr
        assert "2 rows written" in result.stderr
    files = content(tmp_path / "out")
    assert [name for name in files if name.endswith(".skipped.jsonl")] == [
        f"part-00000-{first:012d}.skipped.jsonl" for first in (0, 2, 4)
    ]
    assert files["part-00000-000000000002.jsonl"] == b""
    reason = skipped(tmp_path / "out" / "part-00000-000000000000.skipped.jsonl")[0]["reason"]
    assert "row 2 (line 2): expected a text, found int 5" in str(reason)


def test_a_wrong_type_is_refused_with_its_row(model: Path, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "good"}\n\n{"text": "bad"}\n{"text": 5}\n')
    words = ["predict", model, tmp_path / "in.jsonl", "--threads", "1", "--shard-rows", 2, "-o", f"{tmp_path}/out/"]
    assert "in.jsonl, row 3 (line 4): expected a text, found int 5" in invoke(*words).stderr
    assert invoke(*words, "--on-error", "skip").exit_code == 0  # finished shards are the same


def test_parquet(model: Path, tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    texts = pa.array([b"good", b"b\xffd", b"the", b"na"])
    strings = pa.StringArray.from_buffers(4, texts.buffers()[1], texts.buffers()[2])
    parquet.write_table(pa.table({"text": strings, "n": [1, 2, 3, 4]}), tmp_path / "in.parquet", row_group_size=3)
    words = ["predict", model, tmp_path / "in.parquet", "--threads", "1", "--shard-rows", 2]
    refused = invoke(*words, "-o", tmp_path / "out.parquet")
    assert "in.parquet, row 2, column 'text': invalid UTF-8" in refused.stderr
    result = invoke(*words, "-o", tmp_path / "out.parquet", "--on-error", "skip")
    assert result.exit_code == 0, result.output
    assert read_frame(tmp_path / "out.parquet")["n"].tolist() == [1, 3, 4]
    assert [one["row"] for one in skipped(tmp_path / "out.parquet.skipped.jsonl")] == [2]


def test_parquet_without_any_usable_row(model: Path, tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"text": [["good"], ["bad"]]}), tmp_path / "in.parquet")
    words = ["predict", model, tmp_path / "in.parquet", "--threads", "1", "-o", tmp_path / "out.parquet"]
    result = invoke(*words, "--on-error", "skip")
    assert result.exit_code == 0, result.output
    assert parquet.read_metadata(tmp_path / "out.parquet").num_rows == 0
    assert [one["row"] for one in skipped(tmp_path / "out.parquet.skipped.jsonl")] == [1, 2]


def test_json_lines_without_any_readable_line(model: Path, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text("{\n[1]\n")
    result = invoke("predict", model, tmp_path / "in.jsonl", "-o", f"{tmp_path}/out/", "--on-error", "skip")
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert "no line of in.jsonl can be used" in result.stderr
    assert "line 1" in result.stderr


def test_embed_leaves_out_empty_texts(tiny_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("text,id\nrain,1\n  ,2\nsong,3\n")
    words = ["embed", tiny_folder, tmp_path / "in.csv", "-o", tmp_path / "out.jsonl", "--threads", "1"]
    result = invoke(*words, "--on-error", "skip", "--shard-rows", 1)
    assert result.exit_code == 0, (result.output, result.exception)
    assert read_frame(tmp_path / "out.jsonl")["id"].tolist() == ["1", "3"]
