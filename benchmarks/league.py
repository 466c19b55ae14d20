"""The league: phasefit and its rivals on 14 datasets, with intervals, paired tests, ranks and CPU seconds.

    python benchmarks/league.py --stage development --minutes 60
    python benchmarks/league.py --stage final --part 1/2 --minutes 60
    python benchmarks/league.py --stage final --no-run

`league.toml` describes sets, regimes and contestants. Every finished cell (contestant, set, regime, draw) is a small
file in `ledger/league`, so a stopped league can be resumed, and two are merged by copying their files. Cells run one
after the other, each in its own process with one thread, most informative first. Settings are chosen in the stage
`development`, on held-out training rows of eight sets. The stage `final` scores test rows of all sets, with the
contestants in `settings-frozen.toml`; it is refused until that file is committed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import league_ledger
from few_shot import shown
from league_freeze import plan_of, refuse_held_out
from league_plan import DEVELOPMENT, FINAL, Cell, Plan, part_of, read_plan, selected
from league_plots import accuracy_against_cpu, rank_plot
from league_rows import rows_of
from league_run import CellError, run
from league_scores import Scoreboard
from league_table import cells_csv, report

from phasefit.errors import PhasefitError


def main(arguments: Sequence[str] | None = None) -> None:
    """Run missing cells, then write the tables and pictures from those in the ledger."""
    args = parse(arguments)
    whole = read_plan()
    refuse_held_out(args.sets, whole, args.stage)
    plan = plan_of(args.stage, whole)
    cells = plan.cells(args.stage)
    references = args.references.split(",") if args.references else list(plan.references)
    check_references(references, plan)
    chosen = selected(cells, sets=args.sets, regimes=args.regimes, contestants=args.contestants)
    chosen = [cell for cell in chosen if args.draws is None or cell.draw < args.draws]
    failed = [] if args.no_run else run_missing(part_of(chosen, args.part), args)
    write_results(args, plan, cells, references)
    if failed:
        raise SystemExit(f"{len(failed)} of the cells that were run failed:\n" + "\n".join(failed))


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--stage", choices=(DEVELOPMENT, FINAL), default=DEVELOPMENT)
    add("--sets", help="run only these sets, comma-separated")
    add("--regimes", help="run only these regimes, comma-separated")
    add("--contestants", help="run only these contestants, comma-separated")
    add("--draws", type=int, help="run only the first N draws")
    add("--part", help="K/N: run only part K of N, for several machines")
    add("--minutes", type=float, help="start no cell after N minutes, and write the tables from what is finished")
    add("--no-run", action="store_true", help="write the tables from the ledger; nothing is run, no data is read")
    add("--references", help="compare all others with these contestants, comma-separated; default: see league.toml")
    add("--limit", type=float, default=7200, help="time limit of a cell in seconds")
    add("--data-dir", type=Path, help="folder of the named datasets; default: PHASEFIT_DATA")
    add("--ledger", type=Path, default=league_ledger.FOLDER)
    add("--out", type=Path, default=Path(__file__).parent / "results")
    return parser.parse_args(arguments)


def check_references(references: Sequence[str], plan: Plan) -> None:
    """Refuse a reference that is not a contestant."""
    names = [contestant.name for contestant in plan.contestants]
    for name in references:
        if name not in names:
            raise SystemExit(f"no contestant '{name}' to compare with; choose from {', '.join(names)}")


def run_missing(cells: Sequence[Cell], args: argparse.Namespace) -> list[str]:
    """Run the cells that are not in the ledger, until the minutes are over; returns the failures."""
    start, failed, left = time.monotonic(), [], [one for one in cells if not league_ledger.find(args.ledger, one)]
    print(f"{len(cells) - len(left)} of {len(cells)} cells are in the ledger")
    for number, cell in enumerate(left, start=1):
        if args.minutes is not None and time.monotonic() - start >= 60 * args.minutes:
            print(f"{args.minutes:g} minutes are over; {len(left) - number + 1} cells remain")
            break
        if league_ledger.find(args.ledger, cell):  # another process was faster
            continue
        print(f"{number}/{len(left)} {cell.name} ...", end=" ", flush=True)
        try:
            train, scored = rows_of(cell, args.data_dir)
            result = run(cell, train, scored, args.limit)
        except PhasefitError as error:  # the rows cannot be read
            raise SystemExit(f"{cell.dataset}: {error}") from None
        except CellError as reason:
            failed.append(f"{cell.name}: {reason}")
            print(f"failed: {reason}", flush=True)
            continue
        league_ledger.add(args.ledger, cell, result)
        print(f"accuracy {result['scores']['accuracy']:.3f} in {result['cpu_seconds']['fit']:.1f} CPU s", flush=True)
    return failed


def write_results(args: argparse.Namespace, plan: Plan, cells: Sequence[Cell], references: Sequence[str]) -> None:
    """Write `league.md`, `league.csv` and the pictures; those of development have that word in their names."""
    board = Scoreboard(cells, [league_ledger.find(args.ledger, cell) for cell in cells])
    name = "league" if args.stage == FINAL else f"league-{DEVELOPMENT}"
    args.out.mkdir(parents=True, exist_ok=True)
    pictures = [f"{name}-accuracy.png", f"{name}-ranks.png"] if board.results else []
    if pictures:
        accuracy_against_cpu(board, args.out / pictures[0])
        rank_plot(board, args.out / pictures[1])
    unplanned = league_ledger.others(args.ledger, cells)
    text = report(board, plan, references, stage=args.stage, pictures=pictures, unplanned=unplanned)
    (args.out / f"{name}.md").write_text(text, encoding="utf-8")
    (args.out / f"{name}.csv").write_text(cells_csv(board), encoding="utf-8")
    print(f"{board.counted()}; tables: {shown(args.out / f'{name}.md')}")


if __name__ == "__main__":
    main()
