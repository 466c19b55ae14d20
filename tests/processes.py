"""Two processes on one machine: their results must match those of one process.

Run as a script, once per rank, by the fixture `two_processes`; each job's weights are written by rank 0.
"""

from __future__ import annotations

import gc
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file

from phasefit.models.gather import gather
from phasefit.models.model import Model
from phasefit.objectives import OBJECTIVES
from phasefit.training.device import make_accelerator
from phasefit.training.loop import train_phase
from tiny import fresh_model, make_data, make_phase, make_table

COMMON: dict[str, Any] = {"max_steps": 4, "lr": 1e-3, "patience": 0, "evaluate_every": 4, "eps": 1e-4}
TRAINED: dict[str, tuple[str, dict[str, Any], int]] = {  # kind, options, rows
    "finetune": ("finetune", {"batch_size": 10}, 41 + 18),  # the last batch has one row: fewer than processes
    "frozen": ("finetune", {"batch_size": 8, "freeze": True}, 50),
    "accumulated": ("finetune", {"batch_size": 4, "accumulate": 2}, 50),
    "contrast": ("contrast", {"batch_size": 16, "balance": {"mode": "none"}}, 60),
    "explicit": ("contrast", {"batch_size": 16, "pairs": "explicit", "balance": {"mode": "none"}}, 60),
    "chunked": ("contrast", {"batch_size": 16, "objective": "supcon", "chunk": 3, "balance": {"mode": "none"}}, 60),
    "hard": ("contrast", {"batch_size": 16, "objective": "supcon", "hard_negatives": 2, "class_texts": "names"}, 60),
    "auxiliary": ("finetune", {"batch_size": 16, "objective": "label-aware", "views": ["dropout"]}, 60),
    "proxies": ("finetune", {"batch_size": 16, "objective": "proxy-nca", "chunk": 5}, 60),
    "tokens": ("finetune", {"batch_size": 16, "objective": "soft-triple", "on": "tokens"}, 60),
    "simcse": ("simcse", {"batch_size": 16}, 60),
    "denoise": ("denoise", {"batch_size": 6, "ratio": 0.0}, 31 + 18),
    "joint": ("joint", {"batch_size": 8}, 60),
    "cosine": ("cosine", {"batch_size": 8}, 60),
    "tasks": ("multitask", {"batch_size": 8, "mix": "round_robin"}, 60),
    "union": ("multitask", {"batch_size": 7, "mix": "union"}, 60),
    "alternate": ("joint", {"batch_size": 8, "mix": "alternate"}, 60),
}


def trained(name: str, folder: Path) -> dict[str, torch.Tensor]:
    """The weights after a few steps of a job, in any number of processes."""
    kind, options, rows = TRAINED[name]
    model: Model = fresh_model(folder)
    data = make_data(model.encoder, *make_table(rows), unlabelled=())
    phase = make_phase(kind, model, data, **COMMON, **options)
    for part in phase.modules():
        if isinstance(part, torch.nn.Dropout):  # random draws depend on the process
            part.p = 0.0
    if hasattr(phase, "decoder"):
        phase.decoder.layer.dropout1.p = phase.decoder.layer.dropout2.p = phase.decoder.layer.dropout.p = 0.0
        phase.decoder.layer.self_attn.dropout = 0.0
    accelerator = make_accelerator("cpu", "no", skips_parameters=phase.options.skips_parameters)
    for _ in train_phase(phase, accelerator, seed=0):
        pass
    return {name: value.detach().clone() for name, value in phase.named_parameters()}


def gathered(name: str, rank: int, processes: int) -> dict[str, torch.Tensor]:
    """The gradient of an in-batch objective by a layer that all processes share, averaged as DDP would."""
    torch.manual_seed(0)
    layer, inputs = torch.nn.Linear(6, 4).double(), torch.randn(8, 6, dtype=torch.float64)
    targets, weights = torch.tensor([0, 1, 0, 1, 2, 2, 0, 1]), torch.rand(8, 3, dtype=torch.float64).softmax(1)
    objective = OBJECTIVES[name]()
    own = objective.parameters(3, 4)
    proxies = None if own is None else own.double()
    part = slice(rank * 8 // processes, (rank + 1) * 8 // processes)
    vectors = gather(layer(inputs[part]))
    assert len(vectors) == 8
    if "labelled" in objective.inputs:
        loss = objective(vectors, gather(targets[part]), parameters=proxies, class_weights=gather(weights[part]))
    else:
        loss = objective.views(vectors, gather(layer(inputs[part].flip(1))))
    loss.backward()
    gradient = layer.weight.grad
    if processes > 1:
        torch.distributed.all_reduce(gradient)
        gradient /= processes
    return {"gradient": gradient}


def shared(rank: int, processes: int) -> dict[str, torch.Tensor]:
    """Two gathered parts of a sum get the same gradient tensor from autograd, which neither may change."""
    left, right = (torch.ones(2 // processes, 3, dtype=torch.float64, requires_grad=True) for _ in range(2))
    ((gather(left) + gather(right)) ** 2).sum().backward()
    return {"left": left.grad / processes, "right": right.grad / processes}


def main(folder: Path, out: Path) -> None:
    """All jobs as one rank of two."""
    torch.set_num_threads(1)
    gc.freeze()  # every phase collects garbage and need not scan what was imported
    accelerator = make_accelerator("cpu", "no")
    rank, count = accelerator.process_index, accelerator.num_processes
    assert count == 2
    jobs: dict[str, Callable[[], dict[str, torch.Tensor]]] = {
        f"gather-{name}": lambda name=name: gathered(name, rank, count) for name in OBJECTIVES
    }
    jobs["shared"] = lambda: shared(rank, count)
    jobs |= {name: lambda name=name: trained(name, folder) for name in TRAINED}
    for name, job in jobs.items():
        tensors = job()
        save_file({key: value.contiguous() for key, value in tensors.items()}, out / f"{name}-{rank}.safetensors")
    torch.distributed.destroy_process_group()


def launch(folder: Path, out: Path) -> None:
    """Start both ranks and wait for them."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
    started = [
        subprocess.Popen(
            [sys.executable, __file__, str(folder), str(out)],
            env={**os.environ, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank), "ACCELERATE_USE_CPU": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        outputs = [process.communicate(timeout=200)[0] for process in started]
    finally:
        for process in started:
            process.kill()
    assert all(process.returncode == 0 for process in started), "\n".join(outputs)


if __name__ == "__main__":
    np.random.seed(0)  # noqa: NPY002 - must not matter
    main(Path(sys.argv[1]), Path(sys.argv[2]))
