"""Experiments beyond the papers: a prompt around every text, and generated texts for rare classes.

    python benchmarks/beyond.py

Both studies use the cells of recipes.py (one split, the same seeds, one process per cell; finished cells are reused):
`finetune` with and without a prompt on 500 rows of TREC; and `three-phase` on 1,500 rows of ATIS that include every
rare class, with copies of rare rows, with the VAE instead of plain denoising, and with texts that the VAE generates.
Steps are capped: everything takes about a quarter of an hour on one idle core. Results: `--out`/beyond.csv and
beyond.md.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from summary import name_of, summary

from recipes import read

NAME = "beyond"
PROMPT = "prompt={text} It is about {mask}."
FINETUNE = "finetune.min_steps=60+finetune.max_steps=60"
RARE = "contrast.min_steps=40+contrast.max_steps=40+finetune.min_steps=80+finetune.max_steps=80"
DENOISE = "denoise.min_steps=60+denoise.max_steps=60"
VAE = "denoise.min_steps=240+denoise.max_steps=240"  # with fewer steps the decoder cannot generate
PROMPTS = (
    f"finetune:{FINETUNE}",
    f"finetune:{FINETUNE}+{PROMPT}",
)


@dataclass(frozen=True)
class Study:
    """Variants on the same rows."""

    title: str
    data: str
    rows: int
    variants: tuple[str, ...]
    unseen: str = "error"


STUDIES = (
    Study("A prompt on TREC", "trec", 500, PROMPTS),
    Study(
        "Generated texts for the rare classes of ATIS",
        "atis",
        1500,
        (
            f"three-phase:{DENOISE}+{RARE}",
            f"three-phase-vae:contrast.balance.generate=false+{VAE}+{RARE}",
            f"three-phase-vae:{VAE}+{RARE}",
        ),
        unseen="keep",
    ),
)


def main() -> None:
    """Run missing cells, then write one summary."""
    args = parse()
    tables = [run(study, args) for study in STUDIES if study.data in args.data.split(",")]
    text = "\n".join(tables)
    (args.out / f"{NAME}.md").write_text(text, encoding="utf-8")
    print(text)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--data", default="trec,atis", help="comma-separated: run the studies on these datasets")
    add("--seeds", type=int, default=2, help="number of seeds, starting at 0")
    add("--jobs", type=int, default=os.cpu_count() or 1, help="cells to run in parallel")
    add("--out", type=Path, default=Path(__file__).parent / "results")
    return parser.parse_args()


def run(study: Study, args: argparse.Namespace) -> str:
    """Run one study with recipes.py into the shared file and return its summary."""
    script, out = Path(__file__).with_name("recipes.py"), args.out / f"{NAME}.csv"
    command = [study.data, "--name", NAME, "--rows", str(study.rows), "--unseen", study.unseen]
    more = ["--seeds", str(args.seeds), "--jobs", str(args.jobs), "--out", str(args.out)]
    recipes = ["--recipes", ",".join(study.variants)]
    subprocess.run([sys.executable, str(script), *command, *more, *recipes], check=True)
    known = [row for row in read(out) if row["data"] == study.data and str(row["rows"]) == str(study.rows)]
    command_line = " ".join(["python benchmarks/beyond.py", *sys.argv[1:]])
    rows = [row for row in known if name_of(row) in study.variants and int(row["seed"]) < args.seeds]
    return summary(rows, study.variants, title=study.title, command=command_line)


if __name__ == "__main__":
    main()
