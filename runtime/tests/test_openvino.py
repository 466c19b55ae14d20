"""Folders for OpenVINO give the same answers, and a missing OpenVINO is one sentence."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import phasefit_runtime
from graphs import manifest, sign, task, write_folder
from phasefit_runtime import ExportError

TEXTS = ["red cat", "good dog one two", "blue", "", "bad bad three unknown"]


@pytest.fixture
def folders(tmp_path) -> tuple[Path, Path]:
    """The same model for ONNX Runtime and for OpenVINO."""
    openvino = pytest.importorskip("openvino")
    tasks = {"default": task(), "same": task(pair="uv")}
    onnx, other = (write_folder(tmp_path / name, tasks, long="windows") for name in ("onnx", "openvino"))
    network = openvino.Core().read_model(other / "model.onnx")
    openvino.save_model(network, other / "model.xml", compress_to_fp16=False)
    (other / "model.onnx").unlink()
    sign(other, manifest(other) | {"engine": "openvino"})
    return onnx, other


def test_the_answers_are_the_same(folders: tuple[Path, Path]) -> None:
    first, second = (phasefit_runtime.load(folder, threads=1) for folder in folders)
    np.testing.assert_allclose(first.embed(TEXTS), second.embed(TEXTS), atol=1e-5)
    texts = [*TEXTS, "one two three red blue green cat dog good bad"]
    np.testing.assert_allclose(first.predict_proba(texts, "default"), second.predict_proba(texts, "default"), atol=1e-5)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda text: second.predict_proba([text], "default")[0], texts * 5))
    np.testing.assert_allclose(results, np.tile(second.predict_proba(texts, "default"), (5, 1)), atol=1e-5)


RELOAD = """
import os, signal, sys, threading
import phasefit_runtime
signal.signal(signal.SIGTERM, lambda *_: print("handled"))
models = [phasefit_runtime.load(sys.argv[1], threads=1)]
def reload():
    models[0] = phasefit_runtime.load(sys.argv[1], threads=1)
thread = threading.Thread(target=reload)
thread.start()
thread.join()
os.kill(os.getpid(), signal.SIGTERM)
"""


def test_signals_are_handled_after_another_thread_has_replaced_a_model(folders: tuple[Path, Path]) -> None:
    command = [sys.executable, "-c", RELOAD, str(folders[1])]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stdout) == (0, "handled\n"), ended.stderr


def test_damaged_networks_are_refused(folders: tuple[Path, Path]) -> None:
    folder = folders[1]
    whole = (folder / "model.xml").read_bytes()
    for content in (b"", b"not xml", whole[: len(whole) // 2], whole.replace(b"MatMul", b"Unknown")):
        (folder / "model.xml").write_bytes(content)
        sign(folder, manifest(folder))
        with pytest.raises(ExportError, match="OpenVINO cannot load the model") as refusal:
            phasefit_runtime.load(folder, threads=1)
        assert "\n" not in str(refusal.value)


def test_a_missing_library_names_the_command(folders: tuple[Path, Path], monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(ExportError, match="not installed; install it: pip install openvino"):
        phasefit_runtime.load(folders[1])
