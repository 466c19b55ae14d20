"""Load test of `phasefit serve`: wrk sends twice as many texts as the server can compute, for a minute.

Next to wrk, Python clients send requests of their own, measure how long accepted ones take, and compare every answer
with offline prediction. Reported are the throughput as a share of offline prediction, the latency of accepted
requests, refusals, lost requests, wrong answers and memory. Offline prediction is measured before and after the load;
on a machine that also computes other things, compare the texts per CPU second. wrk must be installed (Debian: `apt
install wrk`).

    python benchmarks/serve_load.py RUN [--seconds 60] [--texts 8] [--threads 1] [-o benchmarks/results/serve_load.md]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import numpy as np

CONNECTIONS = 900  # more than the queue holds: a connection that waits for its answer sends nothing
CHECKERS = 64  # clients that measure, so that the 99th percentile rests on hundreds of requests
LONGEST_GAP = 10  # seconds between the requests of a connection, less than the server waits for the first one
DISTINCT = 1000  # texts, so that hardly any text is computed twice within a batch
CLOSE = 1e-4  # answers differ by rounding, because batches differ


def main() -> None:
    """Run the test and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", help="the folder of a run with one task of single texts")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--texts", type=int, default=8, help="texts per request of wrk")
    parser.add_argument("--threads", type=int, default=1, help="of the server and of offline prediction")
    parser.add_argument("--overload", type=float, default=2.0, help="offered texts as a multiple of the capacity")
    parser.add_argument("--data", default="snips2", help="the dataset whose texts are sent")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("-o", "--out", type=Path, help="also write a table to this file")
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("wrk is not installed (Debian: apt install wrk)")
    texts = texts_of(options.data)
    offline = Offline(options.run, texts, options.threads)
    offline.measure()
    print(f"offline: {offline.speed:,.0f} texts/s, {offline.cpu_speed:,.0f} per CPU second", flush=True)
    figures = load(options, texts, offline)
    offline.measure()
    served = figures["served_texts_per_second"], figures["served_texts_per_cpu_second"]
    figures |= {
        "offline_texts_per_second": round(offline.speed, 1),
        "offline_texts_per_cpu_second": round(offline.cpu_speed, 1),
        "share_of_offline": round(served[0] / offline.speed, 3),
        "share_of_offline_per_cpu_second": round(served[1] / offline.cpu_speed, 3),
        "share_of_offline_per_cpu_second_of_the_worker": round(
            figures["served_texts_per_cpu_second_of_the_worker"] / offline.cpu_speed, 3
        ),
    }
    print(json.dumps(figures, indent=2))
    if options.out:
        options.out.write_text(page(options, figures), encoding="utf-8")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def texts_of(data: str) -> list[str]:
    """Different texts of a dataset; numbered if there are too few."""
    from phasefit import read_table

    found = list(dict.fromkeys(read_table(data).texts))
    random = np.random.default_rng(0)
    random.shuffle(found)
    texts = found[:DISTINCT]
    return texts + [f"{texts[place % len(texts)]} {place}" for place in range(DISTINCT - len(texts))]


class Offline:
    """Offline prediction in this process: its speed over all measurements, and the answers."""

    def __init__(self, run: str, texts: list[str], threads: int) -> None:
        from phasefit.runs.run import Run

        self._model = Run.open_model(run).predictor("cpu", threads)
        self._texts, self._done, self._seconds, self._cpu_seconds = texts, 0, 0.0, 0.0
        names = [None if label is None else str(label) for label in self._model.predict(texts)]  # also warms up
        outputs = self._model.predict_proba(texts).tolist()
        self.answers = {text: (name, row) for text, name, row in zip(texts, names, outputs, strict=True)}

    def measure(self) -> None:
        """Predict all texts once more."""
        start, cpu = time.perf_counter(), time.process_time()
        self._model.predict_proba(self._texts)
        self._seconds += time.perf_counter() - start
        self._cpu_seconds += time.process_time() - cpu
        self._done += len(self._texts)

    @property
    def speed(self) -> float:
        """Texts per second."""
        return self._done / self._seconds

    @property
    def cpu_speed(self) -> float:
        """Texts per second of CPU time."""
        return self._done / self._cpu_seconds


@dataclass
class Checker:
    """A client next to wrk: latency of accepted requests, and answers compared with offline prediction."""

    url: str
    offline: Offline
    texts: int
    latencies: list[float] = field(default_factory=list)
    statuses: dict[int, int] = field(default_factory=dict)
    wrong: int = 0
    lost: int = 0
    checked: int = 0
    stopped: bool = False

    def run(self, number: int) -> None:
        """Send one request after another until it is stopped."""
        random = np.random.default_rng(number)
        every = list(self.offline.answers)
        with httpx.Client(base_url=self.url, timeout=60) as client:
            while not self.stopped:
                texts = random.choice(every, size=int(random.integers(1, 2 * self.texts)), replace=False).tolist()
                start = time.perf_counter()
                try:
                    response = client.post("/v1/classify", json={"input": texts})
                except httpx.HTTPError:
                    self.lost += 1
                    continue
                seconds = time.perf_counter() - start
                self.statuses[response.status_code] = self.statuses.get(response.status_code, 0) + 1
                if response.status_code == 200:
                    self.latencies.append(seconds)
                    self.check(texts, response.json()["data"])
                time.sleep(float(random.uniform(0, 2)))

    def check(self, texts: list[str], rows: list[dict[str, Any]]) -> None:
        """Compare answers; a label may differ only if two classes are equally probable up to rounding."""
        for text, row in zip(texts, rows, strict=True):
            label, probabilities = self.offline.answers[text]
            near = float(np.abs(np.array(row["probs"]) - probabilities).max()) <= CLOSE
            first, second = sorted(probabilities)[-1:-3:-1]
            self.wrong += not near or (row["label"] != label and first - second > CLOSE)
            self.checked += 1


def load(options: argparse.Namespace, texts: list[str], offline: Offline) -> dict[str, Any]:
    """Start the server, load it, and collect the figures."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        command = [sys.executable, "-m", "phasefit", "serve", f"model={options.run}", "--port", "0", "--no-explain"]
        with log.open("w") as file:
            server = subprocess.Popen([*command, "--threads", str(options.threads)], stderr=file)
        try:
            url = address_of(log, server)
            bodies = Path(folder) / "bodies"
            write_bodies(bodies, texts, options.texts)
            warm_up(url, texts)
            return measure(options, url, server.pid, bodies, offline)
        finally:
            server.terminate()
            server.wait(60)
            print(log.read_text(), file=sys.stderr)


def measure(options: argparse.Namespace, url: str, pid: int, bodies: Path, offline: Offline) -> dict[str, Any]:
    """The figures of one load."""
    rate = options.overload * offline.speed / options.texts  # requests per second
    checker = Checker(url, offline, options.texts)
    threads = [Thread(target=checker.run, args=(number,)) for number in range(CHECKERS)]
    samples, memory = [Sample.take(url, pid)], [resident(pid)]
    for thread in threads:
        thread.start()
    connections = min(CONNECTIONS, round(LONGEST_GAP * rate))
    start = time.perf_counter()
    environment = {
        **os.environ,
        "LOAD_BODIES": str(bodies),
        "LOAD_DELAY_MS": str(1000 * connections / rate),
    }
    script = Path(__file__).with_suffix(".lua")
    command = ["wrk", "-t1", f"-c{connections}", f"-d{options.seconds}s", "--timeout", "60s", "-s", str(script), url]
    wrk = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    while wrk.poll() is None:
        time.sleep(1)
        memory.append(resident(pid))
        samples.append(Sample.take(url, pid))
    seconds = time.perf_counter() - start
    first, last = completed(samples)
    done, cpu = last.texts - first.texts, sum(last.cpu.values()) - sum(first.cpu.values())
    worker = max(last.cpu[thread] - first.cpu.get(thread, 0.0) for thread in last.cpu)
    checker.stopped = True
    for thread in threads:
        thread.join()
    assert wrk.stdout is not None
    printed = wrk.stdout.read()
    statuses = {int(code): int(count) for code, count in re.findall(r"^status (\d+) (\d+)$", printed, re.M)}
    (errors,) = re.findall(r"^socket (\d+) (\d+) (\d+) (\d+)$", printed, re.M)
    latencies = sorted(checker.latencies)
    third = memory[len(memory) // 3 :]
    return {
        "served_texts_per_second": round(done / (last.time - first.time), 1),
        "served_texts_per_cpu_second": round(done / cpu, 1),
        "served_texts_per_cpu_second_of_the_worker": round(done / worker, 1),
        "measured_texts": int(done),
        "measured_seconds": round(last.time - first.time, 1),
        "offered_requests_per_second": round(rate, 1),
        "texts_per_request": options.texts,
        "wrk_statuses": statuses,
        "wrk_socket_errors": dict(zip(("connect", "read", "write", "timeout"), map(int, errors), strict=True)),
        "checked_answers": checker.checked,
        "wrong_answers": checker.wrong,
        "lost_requests": checker.lost,
        "checker_statuses": checker.statuses,
        "accepted_and_measured": len(latencies),
        "accepted_p50_seconds": round(statistics.median(latencies), 3) if latencies else None,
        "accepted_p99_seconds": round(latencies[int(0.99 * (len(latencies) - 1))], 3) if latencies else None,
        "memory_mb_start": memory[0],
        "memory_mb_after_a_third": third[0],
        "memory_mb_end": memory[-1],
        "memory_mb_most": max(memory),
        "memory_mb_median_of_each_third": medians(memory),
        "memory_mb_per_minute_after_a_third": round(60 * slope(third), 1),
        "seconds": round(seconds, 1),
    }


def slope(values: list[float]) -> float:
    """The growth of values that were taken once per second, per second; a straight line through all of them."""
    return float(np.polyfit(np.arange(len(values)), values, 1)[0]) if len(values) > 1 else 0.0


def medians(values: list[float]) -> str:
    """The median of each third: single samples also contain what a batch needs while it is computed."""
    return ", ".join(f"{float(np.median(part)):.1f}" for part in np.array_split(np.array(values), 3))


def page(options: argparse.Namespace, figures: dict[str, Any]) -> str:
    """The figures as a table with the command."""
    lines = [
        "# Load test of `phasefit serve`",
        "",
        f"`python benchmarks/serve_load.py RUN --seconds {options.seconds} --texts {options.texts} --threads "
        f"{options.threads} --overload {options.overload:g} --data {options.data}`; shares of offline prediction by "
        "the clock and per CPU second. One run.",
        "",
        "| figure | value |",
        "|-|-|",
        *(f"| {name.replace('_', ' ')} | {_cell(value)} |" for name, value in figures.items()),
    ]
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    return ", ".join(f"{name}: {count}" for name, count in value.items()) if isinstance(value, dict) else str(value)


def address_of(log: Path, server: subprocess.Popen[bytes]) -> str:
    """The address that the server prints."""
    while True:
        if match := re.search(r"at (http://\S+?)/ ", log.read_text()):
            return match[1]
        if server.poll() is not None:
            sys.exit(log.read_text())
        time.sleep(0.1)


def write_bodies(path: Path, texts: list[str], each: int) -> None:
    """One JSON body per line."""
    groups = (texts[start : start + each] for start in range(0, len(texts) - each + 1, each))
    path.write_text("".join(json.dumps({"input": group}) + "\n" for group in groups), encoding="utf-8")


def warm_up(url: str, texts: list[str]) -> None:
    """Requests of every size, so that memory is allocated before it is measured."""
    with httpx.Client(base_url=url, timeout=60) as client:
        for size in (1, 16, 64, 256, 256):
            client.post("/v1/classify", json={"input": texts[:size]}).raise_for_status()


def computed(url: str) -> float:
    """The number of texts that the server has computed."""
    text = httpx.get(f"{url}/metrics", timeout=60).text
    return float(re.findall(r'^phasefit_texts_total\{model="model"\} (\S+)$', text, re.M)[0])


@dataclass(frozen=True)
class Sample:
    """The state of the server at one time."""

    time: float
    texts: float  # computed so far
    cpu: dict[str, float]  # seconds of each thread

    @classmethod
    def take(cls, url: str, pid: int) -> Sample:
        """The state now."""
        return cls(time.perf_counter(), computed(url), thread_seconds(pid))


def completed(samples: list[Sample]) -> tuple[Sample, Sample]:
    """The first and the last sample after a batch ended; texts count when their batch ends, CPU time at once."""
    ends = [after for before, after in pairwise(samples) if after.texts > before.texts]
    if len(ends) < 2:
        sys.exit("fewer than two batches ended; use more --seconds")
    return ends[0], ends[-1]


def thread_seconds(pid: int) -> dict[str, float]:
    """The CPU time of each thread of a process; the one with the most is the worker."""
    seconds = {}
    for thread in Path(f"/proc/{pid}/task").iterdir():
        fields = (thread / "stat").read_text().rpartition(")")[2].split()
        seconds[thread.name] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return seconds


def resident(pid: int) -> float:
    """The memory of a process in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1)


if __name__ == "__main__":
    main()
