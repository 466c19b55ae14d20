"""A contestant of `deploy.py` in its own process: one request per line of standard input, one answer per line.

    python deploy_worker.py phasefit RUN
    python deploy_worker.py runtime EXPORT
    python deploy_worker.py sentence_transformers ENCODER HEAD.npz
    python deploy_worker.py setfit MODEL CLASSES.json
    python deploy_worker.py setfit_onnx MODEL CLASSES.json

Requests are JSON objects: `{"do": "answer", "texts": [...]}`, `{"do": "singles", "texts": [...]}` (one call per text)
and `{"do": "figures"}`. All contestants use one thread. Rivals' interpreters run it too, and start-up is measured: it
imports the standard library, and of the others only what the contestant needs.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

Answer: TypeAlias = Callable[[Sequence[str]], Sequence[Any]]
THREADS = 1
BATCH, LONGEST = 32, 256  # texts and tokens for SetFit's graph: what SetFit's predict uses with the packaged encoder


def serve(load: Callable[[], Answer]) -> None:
    """Load the model, then answer requests until standard input ends."""
    # What libraries print must not mix with the answers.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        answer = load()
        for line in sys.stdin:
            answers.write(json.dumps(reply(answer, json.loads(line))) + "\n")
            answers.flush()


def reply(answer: Answer, request: dict[str, Any]) -> dict[str, Any]:
    """The answer to one request. Reading and writing JSON is not timed."""
    if request["do"] == "figures":
        from measuring import peak

        return {"peak_mb": peak(), "imports_torch": "torch" in sys.modules}
    calls = [request["texts"]] if request["do"] == "answer" else [[text] for text in request["texts"]]
    labels: list[str] = []
    seconds, cpu_seconds = [], []
    for texts in calls:
        start, cpu = time.perf_counter(), time.process_time()
        found = answer(texts)
        seconds.append(time.perf_counter() - start)
        cpu_seconds.append(time.process_time() - cpu)
        labels += map(str, found)
    # The CPU time of the process since it started is that of the start-up if this is its first answer.
    return {"labels": labels, "seconds": seconds, "cpu_seconds": cpu_seconds, "process_seconds": time.process_time()}


def phasefit(run: str) -> Answer:
    """A run, with torch."""
    from phasefit.runs.run import Run

    model = Run.open_model(run).predictor("cpu", THREADS)
    return lambda texts: model.predict(list(texts))


def runtime(folder: str) -> Answer:
    """An exported folder, without torch."""
    import phasefit_runtime

    return phasefit_runtime.load(folder, THREADS).predict


def sentence_transformers(encoder: str, head: str) -> Answer:
    """The encoder of the run in sentence-transformers, and the weights of its head in numpy."""
    import numpy as np
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(THREADS)
    model = SentenceTransformer(encoder, device="cpu")
    with np.load(head, allow_pickle=False) as file:
        weight, bias, classes = file["weight"], file["bias"], file["classes"]

    def answer(texts: Sequence[str]) -> Sequence[Any]:
        logits = model.encode(list(texts), show_progress_bar=False) @ weight.T + bias
        return list(classes[logits.argmax(axis=1)])

    return answer


def setfit(folder: str, classes: str) -> Answer:
    """SetFit's predict; its labels are the numbers of the classes."""
    import torch
    from setfit import SetFitModel

    torch.set_num_threads(THREADS)
    names = json.loads(Path(classes).read_text(encoding="utf-8"))
    model = SetFitModel.from_pretrained(folder, device="cpu")
    return lambda texts: [names[int(code)] for code in model.predict(list(texts), show_progress_bar=False)]


def setfit_onnx(folder: str, classes: str) -> Answer:
    """SetFit's ONNX export, which expects tokens: batches of texts in the given order."""
    import onnxruntime
    from transformers import AutoTokenizer

    names = json.loads(Path(classes).read_text(encoding="utf-8"))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = THREADS
    session = onnxruntime.InferenceSession(
        str(Path(folder) / "model.onnx"), options, providers=["CPUExecutionProvider"]
    )
    wanted = {entry.name for entry in session.get_inputs()}
    how: dict[str, Any] = {"padding": True, "truncation": True, "max_length": min(LONGEST, tokenizer.model_max_length)}
    how |= {"return_token_type_ids": True, "return_tensors": "np"}

    def answer(texts: Sequence[str]) -> Sequence[Any]:
        found: list[str] = []
        for first in range(0, len(texts), BATCH):
            batch = tokenizer(list(texts[first : first + BATCH]), **how)
            codes = session.run(["label"], {name: batch[name].astype("int64") for name in wanted})[0]
            found += [names[int(code)] for code in codes]
        return found

    return answer


LOADERS: dict[str, Callable[..., Answer]] = {
    loader.__name__: loader for loader in (phasefit, runtime, sentence_transformers, setfit, setfit_onnx)
}


if __name__ == "__main__":
    serve(lambda: LOADERS[sys.argv[1]](*sys.argv[2:]))
