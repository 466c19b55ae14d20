"""Bad input through the command line: one sentence with what is wrong, where, and what to do; no files remain.

The real commands on a tiny encoder and a real run, not the fakes of the other tests here.
"""

from __future__ import annotations

import gzip
import io
import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from phasefit.cli.app import app
from phasefit.files.integrity import hash_files
from tiny import make_table, write_csv

HEAD = "text,label\n"
ROWS = "".join(f"the song {row},music\nrain today {row},weather\n" for row in range(20))  # rows 1 to 40
GOOD = HEAD + ROWS
QUICK = "-q -m {tiny} -r finetune -s finetune.max_steps=2"
ON_PAIRS = "-q -m {tiny} -r mnr -s mnr.max_steps=2"
ON_TEXTS = "-q -m {tiny} -r simcse -s simcse.max_steps=2"
Change = Callable[[Path], None]


@dataclass(frozen=True)
class Case:
    """Files to write, a change to a copy of the run (`m`), a command line, and what its one sentence must hold."""

    line: str
    says: tuple[str, ...]
    files: dict[str, str | bytes] = field(default_factory=dict)
    change: Change | None = None


def train(name: str, content: str | bytes, *says: str) -> Case:
    """Training on one file."""
    return Case(f"train {name} {QUICK}", says, {name: content})


def line(command: str, *says: str, **files: str | bytes) -> Case:
    """A command line in a folder with good.csv, and files whose names have _ for the dot."""
    return Case(command, says, {name.replace("_", "."): content for name, content in files.items()})


def recipe(content: str | bytes, *says: str) -> Case:
    """Training with a recipe file."""
    return Case("train good.csv -q -m {tiny} -r r.toml", says, {"r.toml": content})


def setting(value: str, *says: str) -> Case:
    """Training with one --set."""
    return Case("train good.csv -q -m {tiny} -r finetune --set " + value, says)


def option(command: str, *says: str) -> Case:
    """Training with one more option."""
    return Case(f"train good.csv {QUICK} {command}", says)


def parquet(**columns: list[object]) -> bytes:
    """A Parquet file's bytes."""
    file = io.BytesIO()
    pd.DataFrame(columns).to_parquet(file)
    return file.getvalue()


MISSING = "fill in or remove"
FILES = {
    "no such file": line(f"train gone.csv {QUICK}", "no such file: gone.csv"),
    "no such text column": line(f"train good.csv --text txet {QUICK}", "good.csv", "'txet'; did you mean 'text'?"),
    "no such label column": line(f"train good.csv --label lable {QUICK}", "good.csv", "'lable'; did you mean 'label'?"),
    "no usual column": train("t.csv", "a,b\n1,2\n", "t.csv", "'a', 'b'", "--text and --label"),
    "no header": train("t.csv", ROWS, "t.csv", "the song 0", "--text and --label"),
    "text is label": line(f"train good.csv --text text --label text {QUICK}", "good.csv", "--text and as --label"),
    "label twice": line(f"train good.csv --label label --label label {QUICK}", "good.csv", "'label' twice"),
    "empty file": train("t.csv", "", "t.csv is empty"),
    "empty inside gzip": train("t.csv.gz", gzip.compress(b""), "t.csv.gz is empty"),
    "empty parquet": train("t.parquet", "", "t.parquet is empty"),
    "only a header": train("t.csv", HEAD, "t.csv has no rows, only a header"),
    "only a header, tsv": train("t.tsv", "text\tlabel\n", "t.tsv has no rows, only a header"),
    "only white space": train("t.csv", "  \n \n\t\n", "t.csv is empty", "white space"),
    "only white space, jsonl": train("t.jsonl", "  \n \n\t\n", "t.jsonl is empty"),
    "empty texts": train(
        "t.csv", GOOD + " ,music\n,weather\n", "t.csv, row 41 (line 42): the text is empty", "first of 2", MISSING
    ),
    "null text": train(
        "t.jsonl", '{"text":"a","label":1}\n{"text":null,"label":2}\n', "t.jsonl, row 2 (line 2)", MISSING
    ),
    "text left out": train("t.jsonl", '{"text":"a","label":1}\n\n{"label":2}\n', "t.jsonl, row 2 (line 3)", MISSING),
    "nan text": train("t.jsonl", '{"text":"a","label":1}\n{"text":NaN,"label":2}\n', "t.jsonl, row 2", MISSING),
    "none text": train("t.parquet", parquet(text=["a", None], label=["x", "y"]), "t.parquet, row 2: the text", MISSING),
    "number as text": train(
        "t.jsonl", '{"text":7,"label":1}\n', "t.jsonl, row 1", "found int 7; is this the right column?"
    ),
    "missing label": train("t.csv", GOOD + "a text,\n", "t.csv, row 41 (line 42): the label is missing", MISSING),
    "null label": train("t.jsonl", '{"text":"a","label":null}\n', "t.jsonl, row 1 (line 1): the label", MISSING),
    "nan label": train("t.parquet", parquet(text=["a", "b"], label=[1.0, float("nan")]), "t.parquet, row 2", MISSING),
    "one class": train("t.csv", HEAD + "a,x\nb,x\nc,x\n", "t: there is only one class, 'x'", "at least two classes"),
    "scores as classes": Case(
        f"train t.jsonl --kind single {QUICK}",
        ("t.jsonl, row 1 (line 1)", "0.5 is a decimal, not a class", "--kind score"),
        {"t.jsonl": '{"text":"a","label":0.5}\n'},
    ),
    "lists of labels as one": Case(
        f"train t.jsonl --kind single {QUICK}",
        ("t.jsonl, row 1 (line 1)", "the label is a list", "--kind multi"),
        {"t.jsonl": '{"text":"a","label":["x"]}\n'},
    ),
    "names as scores": line(f"train good.csv --kind score {QUICK}", "good.csv, row 1", "is not a number", "--levels"),
    "a level that is none": line(
        f"train good.csv --levels low,high {QUICK}", "good.csv, row 1", "not one of the levels"
    ),
    "one level": line(f"train good.csv --levels low {QUICK}", "--levels needs at least two different levels"),
    "kinds that contradict": line(f"train good.csv --kind multi --tree / {QUICK}", "--tree", "'tree'", "'multi'"),
    "an empty separator": line(f"train good.csv --separator= {QUICK}", "--separator is empty"),
    "scores to reject": Case(
        f"train t.csv --reject 0.1 --test-size 0 {QUICK}",
        ("--reject", "kind 'score'"),
        {"t.csv": HEAD + "".join(f"text {row},{row}.5\n" for row in range(20))},
    ),
    "a score that mistakes classes": Case(
        f"train t.csv -s finetune.watch=accuracy {QUICK}",
        ("kind 'score'", "'accuracy'", "pearson"),
        {"t.csv": HEAD + "".join(f"text {row},{row}.5\n" for row in range(20))},
    ),
    "no task file": line("train good.csv -q -m {tiny} -r multitask", "task file", "[[task]]"),
    "a task file that is not there": line("train nowhere.toml -q -m {tiny}", "no task file 'nowhere.toml'"),
    "a task file for one table": Case(
        f"train t.toml {QUICK}", ("t.toml is a task file", "--recipe multitask"), {"t.toml": "[[task]]\n"}
    ),
    "a task without data": Case(
        "train t.toml -q -m {tiny}", ("t.toml, task 1", "'name' is missing"), {"t.toml": "[[task]]\n"}
    ),
    "a task's head": Case(
        "train t.toml -q -m {tiny}",
        ("task 'one'", "unknown option 'heda'", "'head'"),
        {"t.toml": '[[task]]\nname = "one"\ndata = "good.csv"\nheda = "mlp"\n'},
    ),
    "too small to split": train(
        "t.csv", HEAD + "a,x\nb,y\n", "no validation rows can be split off", "--validation-size 0"
    ),
    "pairs of usual columns": Case(
        "train t.csv -q -m {tiny} -r three-phase",
        ("t.csv", "pairs of texts", "--text", "--recipe finetune"),
        {"t.csv": "premise,hypothesis,label\na,b,c\n"},
    ),
    "two texts": Case(
        "train t.csv --text x --text y -q -m {tiny} -r three-phase",
        ("t.csv", "'x', 'y'", "single texts are needed here", "name one", "--recipe finetune"),
        {"t.csv": "x,y,label\na,b,c\n"},
    ),
    "three texts and a label": Case(
        f"train t.csv --text x --text y --text z {QUICK}",
        ("t.csv", "3 columns", "one text or a pair"),
        {"t.csv": "x,y,z,label\na,b,d,c\n"},
    ),
    "named triples to classify": line(
        f"train nli-triples {QUICK}", "'nli-triples' holds triples", "to learn from triples use --recipe mnr"
    ),
    "no pairs": line(f"train good.csv {ON_PAIRS}", "good.csv", "'text', 'label'", "--text A --text B"),
    "half a pair": line(f"train good.csv --text text {ON_PAIRS}", "good.csv", "only 'text'", "another --text"),
    "a text twice": line(f"train good.csv --text text --text text {ON_PAIRS}", "good.csv", "'text' twice"),
    "four texts": Case(
        f"train t.csv --text a --text b --text c --text d {ON_PAIRS}",
        ("t.csv", "4 columns", "at most three"),
        {"t.csv": "a,b,c,d\n1,2,3,4\n"},
    ),
    "an empty text beside": Case(
        f"train t.csv {ON_PAIRS}",
        ("t.csv, row 2 (line 3), column 'positive': the text is empty", MISSING),
        {"t.csv": "anchor,positive\na,b\nc,\n"},
    ),
    "single texts by name": line(f"train snips {ON_PAIRS}", "'snips' holds single texts", "phasefit datasets"),
    "texts without labels": train("t.txt", "a\nb\n", "t.txt has texts but no label column", "--recipe simcse"),
    "only a text column": train("t.csv", "text\na\nb\n", "t.csv has texts but no label column", "--recipe simcse"),
    "lines in latin-1": train("t.txt", "a\né\n".encode("latin-1"), "t.txt, line 2: invalid UTF-8", "as UTF-8"),
    "blank lines only": train("t.txt", " \n\n", "t.txt is empty"),
    "one text to learn from": Case(
        f"train t.txt {ON_TEXTS}", ("no validation rows", "too few distinct texts"), {"t.txt": "a\nA\n"}
    ),
    "no tree": line(f"train good.csv --tree / {QUICK}", "good: ", "no label has a second", "'music'", "with --tree"),
    "cut utf-16": train("t.csv", GOOD.encode("utf-16")[:-1], "t.csv, row 40 (line 41): invalid UTF-16"),
    "cyrillic": train(
        "t.csv", GOOD.encode() + "привет,music\n".encode("cp1251") * 99, "t.csv, row 41 (line 42)", "--encoding"
    ),
    "latin-1 jsonl": train("t.jsonl", '{"a":1}\n{"a":"é"}\n'.encode("latin-1"), "t.jsonl, line 2", "as UTF-8"),
    "broken utf-8": train(
        "t.tsv", b"text\tlabel\na\tb\n\xc3\x28\x81\tc\n", "t.tsv, row 2 (line 3): invalid UTF-8", "as UTF-8"
    ),
    "nul": train("t.csv", GOOD + "a\0b,music\n", "t.csv, row 41 (line 42): a NUL character"),
    "all nul": train("t.csv", b"\0" * 200, "t.csv, the header: a NUL character", "not a text file"),
    "half a surrogate": train(
        "t.jsonl", '{"text":"a","label":"\\ud83d"}\n', "t.jsonl, line 1: 'label'", "fix or remove"
    ),
    "too few fields": train(
        "t.csv", GOOD + "lonely\n", "t.csv, row 41 (line 42): expected 2 columns, found 1", "missing?"
    ),
    "too many fields": train(
        "t.csv", GOOD + "a,b,c\n", "t.csv, row 41 (line 42): expected 2 columns, found 3", "missing?"
    ),
    "unclosed quote": train("t.csv", GOOD + '"a,b\nc,d\n', "t.csv, row 41 (line 42): a quote is not closed", "twice"),
    "other separator": train(
        "t.csv", GOOD.replace(",", ";") + "a;b;c\n", "t.csv seems to be separated by semicolons", "--delimiter ';'"
    ),
    "column twice": train("t.csv", "text,text,label\na,b,c\n", "t.csv: two columns are named 'text'; rename one"),
    "broken json": train(
        "t.jsonl", '{"text":"a","label":1}\n{"text":\n', "t.jsonl, line 2: not valid JSON", "per line"
    ),
    "list in jsonl": train("t.jsonl", '{"text":"a","label":1}\n["b"]\n', "t.jsonl, line 2", "found a list"),
    "number in jsonl": train("t.jsonl", '{"text":"a","label":1}\n7\n', "t.jsonl, line 2", "found a number"),
    "json array": train("t.jsonl", '[{"text":"a","label":1},\n7]', "t.jsonl, row 2 (line 2)", "found a number"),
    "not parquet": train("t.parquet", GOOD, "t.parquet is not a Parquet file", "again"),
    "cut parquet": train("t.parquet", parquet(text=["a"], label=["b"])[:-9], "t.parquet", "damaged", "again"),
    "not gzip": train("t.csv.gz", GOOD, "t.csv.gz is not a complete gzip file", "again"),
    "cut gzip": train("t.csv.gz", gzip.compress(GOOD.encode())[:-9], "t.csv.gz is not a complete gzip file", "again"),
    "gzip as csv": train("t.csv", gzip.compress(GOOD.encode()), "t.csv is a gzip file; rename it to t.csv.gz"),
    "empty json": train("t.json", "[]", "t.json is empty"),
    "no spreadsheet": train("t.xlsx", b"PK\x03\x04", "t.xlsx is not an Excel file or is damaged", "save it as .xlsx"),
    "old spreadsheet": train("t.xls", b"x", "t.xls: unknown file extension '.xls'", "save the spreadsheet as .xlsx"),
    "wrong delimiter": line(f"train good.csv --delimiter ab {QUICK}", "--delimiter 'ab' cannot separate columns"),
    "wrong encoding": line(f"train good.csv --encoding no {QUICK}", "--encoding 'no' is not known", "windows-1252"),
    "sheet of a csv": line(f"train good.csv --sheet A {QUICK}", "--sheet applies to Excel files", "remove it"),
    "a folder": line(f"train . {QUICK}", ". is a folder without a train file (train.csv"),
    "a folder of nothing": line(f"train d {QUICK}", "train.csv is empty", **{"d/train_csv": ""}),
    "unseen label in test": line(
        f"train good.csv --test t.csv {QUICK}",
        "'wheather'",
        "row 2",
        "--unseen drop",
        t_csv=HEAD + "a,music\nb,wheather\n",
    ),
    "unseen label in validation": line(
        f"train good.csv --validation t.csv {QUICK}",
        "'wheather'",
        "row 1",
        "--unseen drop",
        t_csv=HEAD + "b,wheather\na,music\n",
    ),
    "only unseen labels": line(
        f"train good.csv --test t.csv {QUICK}",
        "'wheather'",
        "check the file and --label",
        "training labels: 'music'",
        t_csv=HEAD + "b,wheather\n",
    ),
    "unseen label when evaluating": line(
        "evaluate {run} t.csv -q", "'wheather'", "row 2", "--unseen drop", t_csv=HEAD + "a,music\nb,wheather\n"
    ),
    "no labels to evaluate": line("evaluate {run} t.csv -q", "t.csv", "--label", t_csv="text\na\n"),
    "no such split": line(
        "evaluate {run} snips2 --split tset", "--split must be train, validation or test, not 'tset'"
    ),
    "test table missing": line(f"train good.csv --test gone.csv {QUICK}", "no such file: gone.csv"),
    "empty unlabelled text": line(
        f"train good.csv --unlabelled u.csv {QUICK}", "u.csv, row 2 (line 3)", MISSING, u_csv="text\na\n \n"
    ),
}
OUTPUTS = {
    "a run is there": line(f"train good.csv -o m {QUICK}", "m already holds a run", "--overwrite"),
    "something else is there": line(
        f"train good.csv -o o {QUICK}", "o holds files that are not a phasefit run", "-o", **{"o/x": "1"}
    ),
    "something else, overwritten": line(
        f"train good.csv -o o --overwrite {QUICK}", "o holds files that are not a phasefit run", "-o", **{"o/x": "1"}
    ),
    "a file is there": line(f"train good.csv -o o --overwrite {QUICK}", "o is a file", "-o", o="1"),
    "below a file": line(f"train good.csv -o o/p {QUICK}", "o/p", "Not a directory", o="1"),
    "predict to an old file": line("predict {run} good.csv -o o.csv", "o.csv exists already", "--overwrite", o_csv="1"),
    "predict to its own input": line("predict {run} good.csv -o good.csv", "good.csv exists already", "--overwrite"),
    "predict to no folder": line(
        "predict {run} good.csv -o no/o.csv", "the folder 'no' does not exist; create it first"
    ),
    "predict to a folder": line("predict {run} good.csv -o o.csv", "o.csv is a folder", **{"o.csv/x": "1"}),
    "predict to an unknown ending": line(
        "predict {run} good.csv -o o.xlsx", "'.xlsx'", "supported: .csv", "a .csv file"
    ),
    "predict without the column": line("predict {run} t.csv", "t.csv", "'a', 'b'", "--text", t_csv="a,b\n1,2\n"),
    "predict, column misspelt": line("predict {run} good.csv --text txet", "good.csv", "did you mean 'text'?"),
    "predict, column clash": line("predict {run} t.csv", "'prediction'", "--prefix", t_csv="text,prediction\na,b\n"),
    "predict, no such file": line("predict {run} gone.csv", "no such file: gone.csv"),
    "embed to an old file": line("embed {run} good.csv -o o.npy", "o.npy exists already", "--overwrite", o_npy="1"),
    "embed to no folder": line("embed {run} good.csv -o no/o.npy", "the folder 'no' does not exist; create it first"),
    "embed to an unknown ending": line("embed {run} good.csv -o o.bin", "'.bin'", "supported: .csv", ".npy"),
    "embed without the column": line("embed {run} t.csv -o o.npy", "t.csv", "'a', 'b'", "--text", t_csv="a,b\n1,2\n"),
    "embed, column clash": line("embed {run} t.csv -o o.csv -q", "'embedding'", ".npy", t_csv="text,embedding\na,b\n"),
    "evaluate into something": line("evaluate {run} good.csv -o o", "not empty", "--overwrite", **{"o/x": "1"}),
}
NAMES = {
    "no such model folder": line(
        "train good.csv -q -r finetune -m ./gone", "'./gone'", "no such folder", "give a folder"
    ),
    "no such model on this machine": line(
        "train good.csv -q -r finetune -m owner/gone", "'owner/gone'", "local folder"
    ),
    "no such model to embed": line("embed owner/gone good.csv -o o.npy -q", "'owner/gone'", "local folder"),
    "no valid model name": line("train good.csv -q -r finetune -m own*er/gone", "'own*er/gone'", "nor a valid hub id"),
    "an empty model name": line(
        'train good.csv -q -r finetune -m ""', "the name of the model is empty", "give a folder"
    ),
    "a file as model": line("train good.csv -q -r finetune -m good.csv", "'good.csv' is a file", "give the folder"),
    "no such run": line("predict gone good.csv", "no run 'gone'", "phasefit train"),
    "an encoder is no classifier": line("predict {tiny} good.csv -q", "is an encoder, not a run", "train a classifier"),
    "no such dataset": line(f"train snip {QUICK}", "'snip'; did you mean 'snips'", "PHASEFIT_DATA", "hub:owner/name"),
    "dataset of the hub": line(f"train hub:owner/gone {QUICK}", "hub:owner/gone is not on this machine", "use a file"),
    "no name behind hub:": line(f"train hub: {QUICK}", "'hub:' names no dataset; write hub:owner/name"),
    "dataset that is not here": line(f"train trec {QUICK}", "'trec' is known", "PHASEFIT_DATA (or --data-dir)", "hub:"),
    "no such data folder": line(f"train trec --data-dir gone {QUICK}", "--data-dir gone: there is no such folder"),
    "no such recipe": line("train good.csv -q -r three-fase", "'three-fase'", "did you mean 'three-phase'?"),
    "no such recipe file": line(
        "train good.csv -q -r gone.toml", "'gone.toml'", "'phasefit recipes' lists the packaged recipes"
    ),
    "no such command": line("trian good.csv", "'trian'", "did you mean 'train'"),
    "nothing to train on": line("train", "phasefit train --help"),
}
FINETUNE = '[[phase]]\nkind = "finetune"\n'
RECIPES = {
    "contrast with one class": Case(
        "train t.csv -q -m m -r contrast-finetune",
        ("contrast: needs at least two classes",),
        {"t.csv": HEAD + "".join(f"song {row},music\n" for row in range(30))},
    ),
    "denoise with no text": Case(
        "train t.csv -q -m {tiny} -r denoise-finetune",
        ("denoise: the tokenizer finds no words in the texts",),
        {"t.csv": HEAD + "".join("\u200b" * row + f",{row % 2}\n" for row in range(1, 41))},
    ),
    "unknown option": recipe(
        FINETUNE + "epoch = 3\n", "r.toml, phase 1: unknown option 'epoch'; did you mean 'epochs'?"
    ),
    "wrong type": recipe(FINETUNE + 'epochs = "many"\n', "r.toml, phase 1: option 'epochs'", "number", "'many'"),
    "out of range": recipe(
        FINETUNE + "batch_size = 1\n", "r.toml, phase 1: option 'batch_size'", "must be at least 2", "found 1"
    ),
    "endless epochs": recipe(FINETUNE + "epochs = inf\n", "r.toml, phase 1: option 'epochs'", "finite number"),
    "unknown kind": recipe('[[phase]]\nkind = "finetun"\n', "r.toml, phase 1: unknown kind 'finetun'; did you mean"),
    "no kind": recipe("[[phase]]\nepochs = 1\n", "r.toml, phase 1: 'kind' is missing", "denoise, contrast"),
    "no phases": recipe("max_length = 64\n", "r.toml: a recipe needs at least one [[phase]] table"),
    "empty recipe": recipe("", "r.toml: a recipe needs at least one [[phase]] table"),
    "no toml": recipe("[[phase]]\nkind = finetune\n", "r.toml: not valid TOML", "line 2, column 8"),
    "no text": recipe(b"\xff\xfe\0", "recipe 'r.toml' cannot be read"),
    "unknown objective": recipe(
        f'[[phase]]\nkind="contrast"\nobjective="supcom"\n{FINETUNE}', "did you mean 'supcon'?"
    ),
    "no temperature": recipe(
        f'[[phase]]\nkind="contrast"\nobjective={{name="supcon", temperature=0}}\n{FINETUNE}', "greater than 0"
    ),
    "nothing to learn": recipe(
        f'[[phase]]\nkind="joint"\ndenoise_weight=0\ncontrast_weight=0\n{FINETUNE}', "phase 1", "both 0"
    ),
    "contrast after finetune": recipe(
        f'{FINETUNE}[[phase]]\nkind="contrast"\n', "phase 2", "end the recipe with a finetune"
    ),
    "its own base": recipe('base = "r.toml"\n', "r.toml: the recipe is its own base"),
    "options together": recipe(
        FINETUNE + 'on = "tokens"\n', "r.toml, phase 1: on = 'tokens' is for an objective, but none is set"
    ),
    "an option that is nothing like others": recipe(
        FINETUNE + "zzz = 1\n", "'zzz'; known:", "recipes options finetune"
    ),
    "an objective's option": line(
        f"train t.txt {ON_TEXTS} -s simcse.temperature=0.1",
        "'temperature'",
        "e.g. objective.temperature",
        t_txt="a\nb\n",
    ),
    "class texts of other columns": line(
        "train good.csv -q -m {tiny} -r contrast-finetune -s contrast.class_texts=c.csv",
        "contrast-finetune, contrast: class_texts 'c.csv' needs the columns label and text; it has 'a', 'b'",
        c_csv="a,b\nmusic,songs\n",
    ),
    "synonyms without a second word": line(
        'train good.csv -q -m {tiny} -r finetune -s \'finetune.views={name="synonyms",table="s.csv"}\'',
        "view 'synonyms': synonyms 's.csv'",
        "no line has two words",
        "rain,shower,drizzle",
        "word,synonym",
        s_csv="rain\nstorm\n",
    ),
    "longer than the model": recipe(
        "max_length = 9999\n" + FINETUNE, "max_length must be", "not 9999", "limit of 64 tokens"
    ),
    "set nonsense": setting("nonsense", "--set nonsense: write it as phase.option=value"),
    "set an unknown phase": setting("fintune.epochs=3", "no 'fintune'; did you mean 'finetune'?"),
    "set an unknown option": setting("finetune.epoch=3", "unknown option 'epoch'; did you mean 'epochs'?"),
    "set the wrong type": setting("finetune.epochs=many", "option 'epochs'", "number", "'many'"),
    "set out of range": setting("finetune.max_steps=0", "option 'max_steps'", "must be at least 1", "found 0"),
    "set endless epochs": setting("finetune.epochs=inf", "option 'epochs'", "finite number"),
    "set a length that is none": setting(
        "max_length=x", "max_length must be 'model', 'auto', 'train' or a number", "'x'"
    ),
}
NUMBERS = {
    command: option(command, *says)
    for command, says in {
        "--validation-size 2": ("--validation-size ", "must be at most 0.9"),
        "--validation-size -1": ("--validation-size ", "must be at least 0"),
        "--validation-size nan": ("--validation-size ", "0.9"),
        "--validation-size much": ("--validation-size ", "must be a number"),
        "--test-size 1": ("--test-size ", "must be at most 0.9"),
        "--validation-size 0.5 --test-size 0.5": ("0.5", "leave some rows to train on"),
        "--rows 0": ("--rows ", "must be at least 1"),
        "--rows 1": ("1 rows cannot include all 2 classes", "at least 2"),
        "--threads 0": ("--threads ", "must be at least 1"),
        "--threads 100000": ("--threads ", "must be at most 1024"),
        "--seed -1": ("--seed ", "must be at least 0"),
        "--seed 1.5": ("--seed ", "must be a whole number"),
        "--device gpu": ("--device gpu", "use auto, cpu"),
        "--device cuda:77": ("--device cuda:77", "use --device cpu or auto"),
        "--precision fp8": ("--precision: 'fp8' is not one of 'auto'",),
        "--unseen maybe": ("--unseen: 'maybe' is not one of 'error'",),
        "--tree ''": ("--tree is empty", "--tree /"),
        "--nonsense": ("--nonsense", "phasefit train --help"),
    }.items()
} | {
    "predict --batch-size 0": line("predict {run} good.csv --batch-size 0", "--batch-size ", "must be at least 1"),
    "embed --batch-size x": line(
        "embed {run} good.csv -o o.npy --batch-size x", "--batch-size ", "must be a whole number"
    ),
    "evaluate --threads 0": line("evaluate {run} good.csv --threads 0", "--threads ", "must be at least 1"),
}


def shorter(name: str, by: int = 100) -> Change:
    """Cut a file off."""
    return lambda run: (run / name).write_bytes((run / name).read_bytes()[:-by]) and None


def without(name: str) -> Change:
    """Take a file or folder away."""
    return lambda run: shutil.rmtree(run / name) if (run / name).is_dir() else (run / name).unlink()


def put(name: str, content: str) -> Change:
    """Write another content."""
    return lambda run: (run / name).write_text(content) and None


def edited(name: str, edit: Callable[[dict], object]) -> Change:
    """Change a JSON file in place."""

    def change(run: Path) -> None:
        content = json.loads((run / name).read_text())
        edit(content)
        (run / name).write_text(json.dumps(content))

    return change


def only(**files: str) -> Change:
    """A folder of nothing but these files."""

    def change(run: Path) -> None:
        shutil.rmtree(run)
        run.mkdir()
        for name, content in files.items():
            (run / name.replace("_", ".")).write_text(content)

    return change


WEIGHTS, AGAIN = "encoder/model.safetensors", "again"
DAMAGE: dict[str, tuple[Change, tuple[str, ...]]] = {
    "encoder cut off": (shorter(WEIGHTS), ("'m/encoder'", "damaged", AGAIN)),
    "encoder's weights gone": (without(WEIGHTS), ("'m/encoder'", "no safetensors weights")),
    "encoder gone": (without("encoder"), ("'m'", "encoder/modules.json is missing", AGAIN)),
    "tokenizer gone": (without("encoder/tokenizer.json"), ("'m/encoder'", "damaged", AGAIN)),
    "config is no JSON": (put("encoder/config.json", "hello"), ("'m/encoder'", "damaged", AGAIN)),
    "modules of strangers": (put("encoder/modules.json", '[{"type": "os.x", "path": ""}]'), ("os.x", "runs no code")),
    "modules are no JSON": (put("encoder/modules.json", "hello"), ("modules.json is damaged", AGAIN)),
    "heads cut off": (shorter("heads.safetensors"), ("'m' is damaged", AGAIN)),
    "heads gone": (without("heads.safetensors"), ("'m' is damaged", "heads.safetensors", AGAIN)),
    "heads not in the manifest": (
        edited("phasefit.json", lambda data: data.pop("heads")),
        ("'m' is damaged", AGAIN),
    ),
    "labels gone": (without("labels.json"), ("'m'", "labels.json is missing")),
    "labels are no JSON": (put("labels.json", "hello"), ("labels.json' is damaged",)),
    "labels do not match": (edited("labels.json", lambda data: data["default"]["classes"].pop()), ("do not match",)),
    "labels of no kind": (
        edited("labels.json", lambda data: data["default"].update(kind="x")),
        ("damaged", AGAIN),
    ),
    "a class is null": (
        edited("labels.json", lambda data: data["default"].update(classes=[None, 1])),
        ("damaged", AGAIN),
    ),
    "a newer format": (
        edited("phasefit.json", lambda data: data.update(format=99)),
        ("format 99", "upgrade phasefit"),
    ),
    "an unfinished run": (
        edited("phasefit.json", lambda data: data.update(status="started")),
        ("'m' is not finished",),
    ),
    "manifest is no JSON": (put("phasefit.json", "hello"), ("phasefit.json' is damaged",)),
    "manifest is a list": (put("phasefit.json", "[1]"), ("phasefit.json is damaged", AGAIN)),
    "a pickle only": (only(model_pkl="x"), ("'m' is not a model", "give the folder of a model")),
    "pickled weights": (
        only(config_json="{}", pytorch_model_bin="x"),
        ("'m' has no safetensors", "does not read pickled weights"),
    ),
    "nothing": (only(), ("'m' is not a model", "give the folder of a model")),
    "a text": (only(README_md="hello"), ("'m' is not a model", "give the folder of a model")),
}
PREDICT, TRAIN = "predict m good.csv -o out.csv -q", "train good.csv -q -r finetune -m m"
MODELS = {
    f"{name}: {called.partition(' ')[0]}": Case(called, says, change=change)
    for name, (change, says) in DAMAGE.items()
    for called in (PREDICT, TRAIN)
} | {
    "heads gone: evaluate": Case(
        "evaluate m good.csv -o out -q", DAMAGE["heads gone"][1], change=without("heads.safetensors")
    ),
    "encoder gone: embed": Case("embed m good.csv -o out.npy -q", DAMAGE["encoder gone"][1], change=without("encoder")),
}
CASES = {**FILES, **OUTPUTS, **NAMES, **RECIPES, **NUMBERS, **MODELS}


@pytest.fixture(scope="module")
def run(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run that knows music and weather."""
    folder = tmp_path_factory.mktemp("run")
    table = write_csv(folder / "table.csv", *make_table(40, classes=2))
    words = f"train {table} -o {folder / 'run'} {QUICK}".format(tiny=tiny_folder).split()
    result = CliRunner().invoke(app, words, prog_name="phasefit")
    assert result.exit_code == 0, result.output
    return folder / "run"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place to work in, with good.csv in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PHASEFIT_DATA", raising=False)
    monkeypatch.delenv("PHASEFIT_DEBUG", raising=False)
    (tmp_path / "good.csv").write_text(GOOD)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def prepare(case: Case, folder: Path, run: Path, tiny: Path) -> list[str]:
    """Write the case's files; its command line as words."""
    for name, content in case.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    words = [word.replace("{run}", str(run)).replace("{tiny}", str(tiny)) for word in shlex.split(case.line)]
    if "m" in words:  # a copy of the run, that may be damaged
        shutil.copytree(run, folder / "m")
    if case.change is not None:
        case.change(folder / "m")
        renew_checksums(folder / "m")
    return words


def renew_checksums(run: Path) -> None:
    """Make the checksums of a changed run right again: without them, other checks must find the damage."""
    with suppress(OSError, ValueError):
        manifest = json.loads((run / "phasefit.json").read_text())
        if isinstance(manifest, dict):
            (run / "phasefit.json").write_text(json.dumps(manifest | {"files": hash_files(run)}))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_one_sentence_and_no_files(case: Case, folder: Path, run: Path, tiny_folder: Path, phasefit, sentence):
    words = prepare(case, folder, run, tiny_folder)
    before = contents(folder)
    result = phasefit(*words)
    message = sentence(result)
    for piece in case.says:
        assert piece in message
    assert result.stdout == ""
    assert contents(folder) == before
    assert not list(folder.glob("runs/*"))


@pytest.mark.parametrize(
    "case",
    [FILES["too many fields"], MODELS["heads cut off: predict"]],  # before torch is imported, and after
    ids=["data", "model"],
)
def test_the_same_in_a_shell(case: Case, folder: Path, run: Path, tiny_folder: Path):
    words = prepare(case, folder, run, tiny_folder)
    before = contents(folder)
    done = subprocess.run([sys.executable, "-m", "phasefit", *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stdout == ""
    [message] = done.stderr.splitlines()
    assert message.startswith("phasefit: ")
    assert all(piece in message for piece in case.says)
    assert contents(folder) == before


@pytest.mark.filterwarnings("default::phasefit.errors.TextsCut")
def test_long_texts_are_counted_and_warned_of(folder: Path, run: Path, tiny_folder: Path, phasefit):
    (folder / "long.csv").write_text(GOOD + "the rain " * 100 + ",weather\n")
    trained = phasefit(*f"train long.csv --validation-size 0 --test-size 0 {QUICK}".format(tiny=tiny_folder).split())
    assert trained.exit_code == 0, trained.output
    assert "1 of 41 texts are longer than 64 tokens and are cut" in trained.stderr
    predicted = phasefit("predict", str(run), "long.csv", "-q")
    assert predicted.exit_code == 0, predicted.output
    assert predicted.stderr == "phasefit: warning: 1 of 41 texts are longer than 64 tokens and are cut\n"


def test_lone_classes_are_kept_and_spoken_of(folder: Path, tiny_folder: Path, phasefit):
    (folder / "lone.csv").write_text(GOOD + "a pizza,food\na flight,travel\n")
    words = f"train lone.csv -o out {QUICK}".format(tiny=tiny_folder).replace("-q ", "").split()
    result = phasefit(*words)
    assert result.exit_code == 0, result.output
    assert "2 with one row (in train only, never scored)" in " ".join(result.stderr.split())
    labels = json.loads((folder / "out" / "labels.json").read_text())
    assert set(labels["default"]["classes"]) == {"music", "weather", "food", "travel"}


def test_overwrite_replaces_a_run(folder: Path, run: Path, tiny_folder: Path, phasefit):
    shutil.copytree(run, folder / "m")
    result = phasefit(*f"train good.csv -o m --overwrite --seed 7 {QUICK}".format(tiny=tiny_folder).split())
    assert result.exit_code == 0, result.output
    assert json.loads((folder / "m" / "phasefit.json").read_text())["seed"] == 7
    assert {path.name for path in folder.iterdir()} == {"good.csv", "m"}
