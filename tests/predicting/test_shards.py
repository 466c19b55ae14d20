"""Output in shards equals the output of one pass, and a folder takes only the work it was made for."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from phasefit.data.io.frames import read_frame, write_frame
from phasefit.predicting.shards import row_group_ranges
from sharded import content, invoke, save_small
from wild import TEXT

PLAIN = {
    "deadline": None,
    "phases": [Phase.explicit, Phase.generate],
    "suppress_health_check": [HealthCheck.function_scoped_fixture],
}
CELLS = {
    "csv": TEXT.filter(lambda text: "\0" not in text),
    "tsv": TEXT.filter(lambda text: "\0" not in text),
    "jsonl": st.one_of(TEXT, st.none(), st.integers(-5, 5), st.booleans(), st.floats(allow_nan=False)),
    "parquet": st.one_of(st.none(), st.integers(-(2**40), 2**40)),
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small(tmp_path_factory.mktemp("model") / "run")


def predict(model: Path, *words: object) -> None:
    result = invoke("predict", model, *words, "--threads", "1", "--quiet")
    assert result.exit_code == 0, (result.output, result.exception)


def values(frame: pd.DataFrame) -> dict[str, list[object]]:
    """The cells, whatever the type of a column of nulls is."""
    return frame.astype(object).where(frame.notna(), None).to_dict("list")


def write_table(path: Path, frame: pd.DataFrame) -> Path:
    if path.suffix == ".jsonl":  # with missing keys, which a frame does not have
        rows = [{key: value for key, value in row.items() if value != 3} for row in frame.to_dict("records")]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        write_frame(frame, path)
    return path


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
@settings(max_examples=8, **PLAIN)
@given(data=st.data())
def test_shards_give_the_output_of_one_pass(model: Path, tmp_path: Path, ending: str, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 12))
    texts = TEXT.filter(lambda text: ending in ("jsonl", "parquet") or "\0" not in text)
    frame = pd.DataFrame(
        {
            "text": data.draw(st.lists(texts, min_size=count, max_size=count)),
            "more, \n": pd.Series(data.draw(st.lists(CELLS[ending], min_size=count, max_size=count)), dtype=object),
        }
    )
    source, once, one = (
        write_table(tmp_path / f"in.{ending}", frame),
        tmp_path / f"a.{ending}",
        tmp_path / f"b.{ending}",
    )
    predict(model, source, "--text", "text", "-o", once, "--overwrite")
    rows = data.draw(st.integers(1, 5))
    predict(model, source, "--text", "text", "-o", one, "--overwrite", "--shard-rows", rows)
    if ending == "parquet":
        assert values(read_frame(once)) == values(read_frame(one))
    else:
        assert once.read_bytes() == one.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([source.name, once.name, one.name])


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "jsonl", "parquet", "tsv"])
@pytest.mark.parametrize("source", ["csv", "jsonl.gz", "parquet"])
def test_every_format_from_every_format(model: Path, tmp_path: Path, source: str, ending: str) -> None:
    texts = [f"{word} number {row}" for row in range(7) for word in ("good day", "bad", "the")]
    frame = pd.DataFrame({"id": [str(row) for row in range(21)], "text": texts})
    write_frame(frame, tmp_path / f"in.{source}")
    predict(model, tmp_path / f"in.{source}", "-o", tmp_path / f"once.{ending}")
    predict(model, tmp_path / f"in.{source}", "-o", tmp_path / f"one.{ending}", "--shard-rows", 4)
    assert values(read_frame(tmp_path / f"once.{ending}")) == values(read_frame(tmp_path / f"one.{ending}"))
    if ending in ("csv", "tsv", "jsonl"):  # gzip depends on how much is written at once
        assert (tmp_path / f"once.{ending}").read_bytes() == (tmp_path / f"one.{ending}").read_bytes()
    predict(model, tmp_path / f"in.{source}", "-o", f"{tmp_path}/out/", "--shard-rows", 4, "--out-format", ending)
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == [*(f"part-00000-{first:012d}.{ending}" for first in range(0, 21, 4)), "predict.json"]
    parts = [read_frame(tmp_path / "out" / name) for name in names[:-1]]
    assert values(pd.concat(parts, ignore_index=True)) == values(read_frame(tmp_path / f"once.{ending}"))


def test_types_are_the_same_in_every_shard(model: Path, tmp_path: Path) -> None:
    rows = [{"text": "good"}, {"text": "", "n": 1}, {"text": "bad", "n": 2.5, "tags": ["a"]}, {"text": None}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    predict(model, tmp_path / "in.jsonl", "-o", f"{tmp_path}/out/", "--shard-rows", 1, "--out-format", "parquet")
    from pyarrow import parquet

    schemas = [parquet.read_schema(path) for path in sorted((tmp_path / "out").glob("*.parquet"))]
    assert len(schemas) == 4
    assert all(schema.equals(schemas[0]) for schema in schemas)


def test_row_groups_are_kept_together() -> None:
    assert list(row_group_ranges([3, 3, 3], 6)) == [(0, 6), (6, 3)]
    assert list(row_group_ranges([10, 1, 1], 4)) == [(0, 4), (4, 4), (8, 4)]
    assert list(row_group_ranges([0, 5, 0], 5)) == [(0, 5)]
    random = np.random.default_rng(0)
    for _ in range(50):
        sizes, most = random.integers(0, 9, 6).tolist(), int(random.integers(1, 9))
        ranges = list(row_group_ranges(sizes, most))
        assert [row for first, rows in ranges for row in range(first, first + rows)] == list(range(sum(sizes)))
        assert all(0 < rows <= most for _, rows in ranges)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    for name in ("b", "a"):
        write_frame(
            pd.DataFrame({"text": [f"good {name} {row}" for row in range(5)]}), tmp_path / "data" / f"{name}.csv"
        )
    (tmp_path / "data" / "_SUCCESS").touch()
    return tmp_path


@pytest.mark.parametrize("sources", [["data/*.csv"], ["data"], ["data/a.csv", "data/b.csv"]])
def test_several_files(model: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, sources: list[str]) -> None:
    monkeypatch.chdir(folder)
    predict(model, *sources, "-o", "out/", "--shard-rows", 3)
    names = ["part-00000-000000000000.csv", "part-00000-000000000003.csv"]
    names += ["part-00001-000000000000.csv", "part-00001-000000000003.csv", "predict.json"]
    assert sorted(content(Path("out"))) == names
    assert read_frame(Path("out") / names[1])["text"].tolist() == ["good a 3", "good a 4"]
    if sources != ["data"]:
        predict(model, *sources, "-o", "one.csv")
        assert len(read_frame(Path("one.csv"))) == 10


@pytest.mark.parametrize("target", ["data/out/", "data/out.csv"])
def test_a_pattern_does_not_match_the_output(
    model: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    monkeypatch.chdir(folder)
    words = ["data/**/*.csv", "-o", target, "--shard-rows", 3]
    predict(model, *words)
    target = target.removesuffix("/")
    before = content(Path(target)) if Path(target).is_dir() else {target: Path(target).read_bytes()}
    if Path(target).is_dir():
        (Path(target) / min(before)).unlink()  # as after a kill
    predict(model, *words, *(["--overwrite"] if Path(target).is_file() else []))
    assert before == (content(Path(target)) if Path(target).is_dir() else {target: Path(target).read_bytes()})
    result = invoke("predict", model, "data/*.csv", "-o", "data/")
    assert "is not empty and has no predict.json" in result.stderr


def test_a_file_is_read_once(model: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    Path("link.csv").symlink_to("data/a.csv")
    for other in ("link.csv", "data/../data/a.csv"):
        result = invoke("predict", model, "data/a.csv", other, "-o", "out/")
        assert (result.exit_code, "data/a.csv is given twice" in result.stderr) == (2, True)
        assert not Path("out").exists()


def test_files_with_other_columns_do_not_fit_into_one(model: Path, folder: Path) -> None:
    write_frame(pd.DataFrame({"text": ["x"], "more": ["y"]}), folder / "data" / "c.csv")
    result = invoke("predict", model, f"{folder}/data/*.csv", "-o", folder / "one.csv")
    assert "c.csv has other columns or types than a.csv" in result.stderr
    assert not (folder / "one.csv").exists()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_without_rows_are_left_out(model: Path, tmp_path: Path, ending: str) -> None:
    (tmp_path / "data").mkdir()
    for name, rows in (("a", 0), ("b", 3), ("c", 0)):
        frame = pd.DataFrame({"text": [f"good {row}" for row in range(rows)]}, dtype="str")
        write_frame(frame, tmp_path / "data" / f"{name}.{ending}")
    words = [model, f"{tmp_path}/data/*.{ending}", "--threads", "1", "--shard-rows", 2]
    result = invoke("predict", *words, "-o", f"{tmp_path}/out/")
    assert result.exit_code == 0, result.output
    assert [line for line in result.stderr.splitlines() if "left out" in line] == [
        f"{name}.{ending} has no rows{', only a header' * (ending == 'csv')}; it is left out" for name in "ac"
    ]
    parts = sorted(path.name for path in (tmp_path / "out").glob("part-*"))
    assert parts == [f"part-00001-{first:012d}.{ending}" for first in (0, 2)]
    (tmp_path / "out" / parts[0]).unlink()
    predict(*words, "-o", f"{tmp_path}/out/")  # resumed: the plan still has all files
    predict(*words, "-o", tmp_path / f"one.{ending}")
    assert read_frame(tmp_path / f"one.{ending}")["text"].tolist() == ["good 0", "good 1", "good 2"]
    (tmp_path / "data" / f"b.{ending}").unlink()
    result = invoke("predict", *words, "-o", tmp_path / f"two.{ending}")
    assert (result.exit_code, "the input files have no rows" in result.stderr) == (2, True)


def test_another_manifest_is_refused(model: Path, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    source, words = folder / "data" / "a.csv", ["-o", f"{folder}/out/", "--threads", "1", "--shard-rows", "2"]
    predict(model, source, *words)
    before = content(folder / "out")
    other = save_small(tmp_path_factory.mktemp("other") / "run", reject_below=0.9)
    for arguments, what in (
        ([other, source, *words], "the model differs"),
        ([model, source, *words, "--prefix", "x_"], "the options differ (prefix)"),
        ([model, source, *words[:-1], "3"], "shard_rows"),
        ([model, source, *words[:3], "2", *words[4:]], "the number of threads"),
        ([model, folder / "data" / "b.csv", *words], "the input files differ;"),
    ):
        result = invoke("predict", *arguments)
        assert result.exit_code == 2
        assert len(result.stderr.splitlines()) == 1
        assert what in result.stderr, result.stderr
        assert content(folder / "out") == before
    predict(model, source, *words)  # nothing left to do
    assert content(folder / "out") == before
    predict(model, folder / "data" / "b.csv", *words, "--overwrite")
    assert content(folder / "out").keys() == before.keys()
    assert content(folder / "out") != before


def test_a_folder_of_the_user_is_refused(model: Path, folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out" / "mine.txt").write_text("precious")
    result = invoke("predict", model, folder / "data" / "a.csv", "-o", f"{folder}/out/", "--overwrite")
    assert "is not empty and has no predict.json" in result.stderr
    assert content(folder / "out") == {"mine.txt": b"precious"}


def test_an_input_that_changed_is_another_input(model: Path, folder: Path) -> None:
    source = folder / "data" / "a.csv"
    predict(model, source, "-o", f"{folder}/out/")
    source.write_text("text\nother\n")
    assert (
        "the input files differ;" in invoke("predict", model, source, "-o", f"{folder}/out/", "--threads", "1").stderr
    )


def test_a_damaged_manifest_is_one_sentence(model: Path, folder: Path) -> None:
    source = folder / "data" / "a.csv"
    predict(model, source, "-o", f"{folder}/out/")
    (folder / "out" / "predict.json").write_text('{"format": 1, "request": {}, "files": [], "shards": [{"file": 7}]}')
    result = invoke("predict", model, source, "-o", f"{folder}/out/")
    assert "predict.json is damaged" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_large_file_is_read_in_shards(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("phasefit.cli.shards.LARGE", 100)
    seen = []
    monkeypatch.setattr("phasefit.predicting.run.Manifest.write", lambda self, folder: seen.append(folder.name))
    write_frame(pd.DataFrame({"text": ["good"] * 50}), tmp_path / "in.csv")
    predict(model, tmp_path / "in.csv", "-o", tmp_path / "out.csv")
    assert seen == [".out.csv.phasefit"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv", "out.csv"]
    result = invoke("predict", model, tmp_path / "in.csv", "-o", tmp_path / "out.csv")
    assert "exists already" in result.stderr


@pytest.mark.parametrize("target", ["out.csv", "out/"])
def test_an_interrupted_command_resumes(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    from phasefit.models.tfidf.model import TfidfModel

    write_frame(pd.DataFrame({"text": [f"good {row}" for row in range(9)]}), tmp_path / "in.csv")
    words = [tmp_path / "in.csv", "-o", f"{tmp_path}/{target}", "--shard-rows", 2]
    real, calls = TfidfModel.predict_outputs, []

    def interrupted(*arguments: object, **named: object) -> np.ndarray:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(TfidfModel, "predict_outputs", interrupted)
    result = invoke("predict", model, *words, "--threads", "1")
    assert result.exit_code == 130
    assert "interrupted; 2 of 5 shards are finished; repeat the command to resume" in result.stderr
    again = invoke("predict", model, *words)  # with the earlier number of threads
    assert again.exit_code == 0, again.output
    assert "resumed: 2 shards were finished before" in again.stderr
    assert len(calls) == 6
    predict(model, tmp_path / "in.csv", "-o", f"{tmp_path}/whole-{target}", "--shard-rows", 2)
    if target == "out.csv":
        assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "whole-out.csv").read_bytes()
    else:
        assert content(tmp_path / "out") == content(tmp_path / "whole-out")


def test_other_encodings_and_gzip(model: Path, tmp_path: Path) -> None:
    text = "text;id\n" + "".join(f"good straße ü{row};{row}\n" for row in range(9))
    (tmp_path / "a.csv").write_bytes(text.encode("utf-16"))
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(text.encode("cp1252")))
    for name in ("a.csv", "b.csv.gz"):
        predict(model, tmp_path / name, "-o", tmp_path / "once.csv", "--overwrite")
        predict(model, tmp_path / name, "-o", tmp_path / "one.csv", "--overwrite", "--shard-rows", 2)
        assert (tmp_path / "once.csv").read_bytes() == (tmp_path / "one.csv").read_bytes()


def test_tab_separated_files_without_quoting(model: Path, tmp_path: Path) -> None:
    rows = ['a "good" day', '"bad', "it is 5", "plain"]
    (tmp_path / "in.tsv").write_text("text\tid\n" + "".join(f"{row}\t1\n" for row in rows))
    predict(model, tmp_path / "in.tsv", "-o", tmp_path / "one.tsv", "--shard-rows", 2)
    assert read_frame(tmp_path / "one.tsv")["text"].tolist() == rows


def test_several_processes_give_the_same_bytes(model: Path, tmp_path: Path) -> None:
    write_frame(pd.DataFrame({"text": [f"good {row}" for row in range(9)]}), tmp_path / "in.csv")
    predict(model, tmp_path / "in.csv", "-o", f"{tmp_path}/one/", "--shard-rows", 2)
    predict(model, tmp_path / "in.csv", "-o", f"{tmp_path}/two/", "--shard-rows", 2, "--engine", "local:2")
    assert content(tmp_path / "one") == content(tmp_path / "two")


@pytest.mark.long
def test_processes_with_an_encoder_give_the_same_bytes(tiny_folder: Path, tmp_path: Path) -> None:
    write_frame(pd.DataFrame({"text": [f"rain and {row} songs" for row in range(50)]}), tmp_path / "in.csv")
    for name, engine in (("one", "local"), ("two", "local:2")):
        words = ["-o", f"{tmp_path}/{name}/", "--shard-rows", 8, "--threads", "1", "--engine", engine]
        result = invoke("embed", tiny_folder, tmp_path / "in.csv", *words, "--out-format", "parquet")
        assert result.exit_code == 0, (result.output, result.exception)
    assert content(tmp_path / "one") == content(tmp_path / "two")
    assert len(content(tmp_path / "one")) == 8


@pytest.mark.parametrize("ending", ["npy", "parquet", "jsonl", "csv"])
def test_embeddings(tiny_folder: Path, tmp_path: Path, ending: str) -> None:
    write_frame(pd.DataFrame({"text": [f"rain and {row} songs" for row in range(5)]}), tmp_path / "in.csv")
    for name, words in (("once", []), ("one", ["--shard-rows", "2"])):
        words += ["-o", tmp_path / f"{name}.{ending}", "--threads", "1"]
        result = invoke("embed", tiny_folder, tmp_path / "in.csv", *words)
        assert result.exit_code == 0, (result.output, result.exception)
    if ending == "npy":
        once, one = np.load(tmp_path / "once.npy"), np.load(tmp_path / "one.npy")
        assert once.shape == one.shape
    else:
        once, one = (read_frame(tmp_path / f"{name}.{ending}")["embedding"].tolist() for name in ("once", "one"))
        if ending == "csv":
            once, one = (list(map(json.loads, rows)) for rows in (once, one))
    np.testing.assert_allclose(np.array(list(once)), np.array(list(one)), atol=1e-5)


def test_remote_files(model: Path, tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    frame = pd.DataFrame({"text": [f"good {row}" for row in range(7)]})
    for ending in ("csv", "jsonl.gz", "parquet"):
        write_frame(frame, tmp_path / f"in.{ending}")
        predict(model, tmp_path / f"in.{ending}", "-o", tmp_path / "once.csv", "--overwrite")
        with fsspec.open(f"memory://bucket/in.{ending}", "wb") as file:
            file.write((tmp_path / f"in.{ending}").read_bytes())
        predict(model, f"memory://bucket/*.{ending}", "-o", tmp_path / "one.csv", "--overwrite", "--shard-rows", 3)
        assert (tmp_path / "once.csv").read_bytes() == (tmp_path / "one.csv").read_bytes()
    missing = invoke("predict", model, "memory://bucket/none.csv", "-o", tmp_path / "two.csv")
    assert "there is no such file" in missing.stderr


def test_fsspec_is_an_extra(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
    result = invoke("predict", model, "s3://bucket/in.csv", "-o", tmp_path / "two.csv")
    assert "pip install 'phasefit[remote]'" in result.stderr
    assert result.exit_code == 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["-", "--shard-rows", "2"], "--shard-rows needs input files"),
        (["data/*.csv"], "needs an output"),
        (["none/*.csv", "-o", "out/"], "no table matches"),
        (["data/a.csv", "-o", "out/", "--engine", "spark"], "--engine spark is unknown"),
        (["data/a.csv", "-o", "out.csv", "--out-format", "csv"], "applies to a folder"),
        (["data/a.csv", "-o", "out/", "--out-format", "xlsx"], "--out-format xlsx is unknown; use csv, tsv, jsonl"),
        (["data/a.csv", "data/a.csv", "-o", "out/"], "is given twice"),
        (["data/a.csv", "-o", "out/", "--delimiter", ";", "--text", "none"], "there is no column 'none'"),
    ],
)
def test_wrong_options(model: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], says: str) -> None:
    monkeypatch.chdir(folder)
    result = invoke("predict", model, *words)
    assert result.exit_code == 2
    assert says in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert sorted(path.name for path in folder.iterdir()) == ["data"]
