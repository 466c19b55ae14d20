"""Build both wheels, install each into a clean environment, and run its smoke test: make package

The environments are created outside the checkout, so that nothing is imported from it, and deleted afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HERE = Path(__file__).resolve().parent
LARGEST_MB = 200  # what the runtime's environment may take, installed


def main() -> None:
    """Build, install, test."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where the wheels go")
    parser.add_argument("--only", choices=["runtime", "phasefit"], help="install and test only one of the wheels")
    parser.add_argument("--exported", type=Path, help="also answer from this exported folder")
    given = parser.parse_args()
    wheels = build(given.out)
    with tempfile.TemporaryDirectory(prefix="phasefit-package-") as place:
        folder = write_exported(Path(place))
        if given.only != "phasefit":
            check_runtime(wheels["phasefit_runtime"], Path(place), folder, given.exported)
        if given.only != "runtime":
            check_phasefit(wheels["phasefit"], wheels["phasefit_runtime"], Path(place), folder)


def build(out: Path) -> dict[str, Path]:
    """The wheels, by the names of their packages; hatchling of this environment builds them, without the network."""
    out.mkdir(parents=True, exist_ok=True)
    wheels = {}
    for name, source in (("phasefit", ROOT), ("phasefit_runtime", ROOT / "runtime")):
        with tempfile.TemporaryDirectory(prefix="phasefit-wheel-") as place:
            pip(Path(sys.executable), "wheel", "--no-deps", "--no-build-isolation", "-w", place, str(source))
            (made,) = Path(place).glob("*.whl")
            wheels[name] = Path(shutil.copy2(made, out / made.name))
        print(f"built {wheels[name].relative_to(out.parent)} ({wheels[name].stat().st_size / 1e3:,.0f} kB)", flush=True)
    return wheels


def write_exported(place: Path) -> Path:
    """A tiny exported folder, and the answers that the runtime of this checkout gives."""
    sys.path[:0] = [str(ROOT / "runtime" / "tests"), str(ROOT / "runtime" / "src")]
    import phasefit_runtime
    from graphs import task, write_folder

    folder = write_folder(place / "tiny", {"default": task(reject_below=0.5)})
    texts = ["red cat", "good dog one two", "blue"]
    expected = phasefit_runtime.load(folder).predict_proba(texts).tolist()
    (place / "expected.json").write_text(json.dumps({"texts": texts, "probabilities": expected}))
    return folder


def check_runtime(wheel: Path, place: Path, folder: Path, exported: Path | None) -> None:
    """The runtime alone: it answers, imports no torch, and is small."""
    python = environment(place / "runtime")
    bare = installed_mb(python)
    pip(python, "install", str(wheel))
    taken = installed_mb(python) - bare
    print(f"phasefit-runtime and its requirements take {taken:,.0f} MB installed", flush=True)
    if taken > LARGEST_MB:
        raise SystemExit(f"the runtime's environment is larger than {LARGEST_MB} MB")
    run(python, HERE / "smoke_runtime.py", folder, place / "expected.json", *([exported.resolve()] if exported else []))


def check_phasefit(wheel: Path, runtime: Path, place: Path, folder: Path) -> None:
    """phasefit with the tested versions: help, version, a short training, and an exported folder."""
    python = environment(place / "phasefit")
    constraints = ROOT / "constraints.txt"
    (torch,) = [line for line in constraints.read_text(encoding="utf-8").splitlines() if line.startswith("torch==")]
    pip(python, "install", torch)  # first, because its build decides what else is installed
    pip(python, "install", "-c", str(constraints), str(wheel), str(runtime))
    print(f"phasefit and its requirements take {installed_mb(python):,.0f} MB installed", flush=True)
    run(python, HERE / "smoke_phasefit.py", folder)


def environment(folder: Path) -> Path:
    """The Python of a new virtual environment."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    return folder / ("Scripts" if os.name == "nt" else "bin") / "python"


def pip(python: Path, *arguments: str) -> None:
    """Run pip quietly."""
    subprocess.run([python, "-m", "pip", "-qq", "--disable-pip-version-check", *arguments], check=True)


def installed_mb(python: Path) -> float:
    """The size of the installed packages, without compiled copies of modules."""
    code = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    folder = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()
    files = (path for path in Path(folder).rglob("*") if path.is_file() and path.suffix != ".pyc")
    return sum(path.stat().st_size for path in files) / 1e6


def run(python: Path, *arguments: Path) -> None:
    """Run a script outside the checkout, with nothing of it on the path."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    with tempfile.TemporaryDirectory() as elsewhere:
        subprocess.run([python, *map(str, arguments)], check=True, cwd=elsewhere, env=clean)


if __name__ == "__main__":
    main()
