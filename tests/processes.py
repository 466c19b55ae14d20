"""Several processes on one machine: their results must match those of one process.

Run as a script, once per rank, by `launch`; every rank writes the weights of each job.
"""

from __future__ import annotations

import gc
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate.state import AcceleratorState, PartialState
from accelerate.utils import DistributedType, FullyShardedDataParallelPlugin
from safetensors.torch import save_file
from torch.distributed.tensor import DTensor

from phasefit.events import Scored
from phasefit.models.encoder.dropout import set_dropout
from phasefit.models.encoder.inference import encode_rows
from phasefit.models.encoder.sharing import shared_encoding
from phasefit.models.gather import gather
from phasefit.models.model import Model
from phasefit.objectives import OBJECTIVES
from phasefit.phases.batch import division
from phasefit.phases.contract import Batch, Phase, PhaseData
from phasefit.training.device import make_accelerator
from phasefit.training.loop import train_phase
from phasefit.training.state import PhaseState, put_weights, weights_of
from several_tasks import tasks_of
from tiny import fresh_model, make_data, make_phase, make_table, same, weights

COMMON: dict[str, Any] = {"max_steps": 4, "lr": 1e-3, "patience": 0, "evaluate_every": 2, "eps": 1e-4}
SCORES = "scores "  # prefix of scores by step, among the weights of a job
WEIGHTS = {"tags": {"weight": 3.0}, "same": {"weight": 0.5}}
# Kind and options; most batches do not divide by two or four, and some have fewer rows than there are processes.
TRAINED: dict[str, tuple[str, dict[str, Any]]] = {
    "finetune": ("finetune", {"batch_size": 10}),  # 41 rows: the last batch has one
    "finetune, frozen": ("finetune", {"batch_size": 7, "freeze": True}),
    "finetune, accumulated": ("finetune", {"batch_size": 3, "accumulate": 2}),
    "finetune, weights of rows and classes": (
        "finetune",
        {"batch_size": 11, "class_weights": "balanced", "focal": 1.0},
    ),
    "finetune, label-aware": ("finetune", {"batch_size": 13, "objective": "label-aware", "views": ["delete-words"]}),
    "finetune, proxies in chunks": ("finetune", {"batch_size": 14, "objective": "proxy-nca", "chunk": 5}),
    "finetune, tokens": ("finetune", {"batch_size": 14, "objective": "soft-triple", "on": "tokens"}),
    "contrast": ("contrast", {"batch_size": 14}),
    "contrast, noise in chunks": ("contrast", {"batch_size": 14, "objective": "supcon", "chunk": 4}),
    "contrast, explicit": ("contrast", {"batch_size": 15, "pairs": "explicit"}),
    "contrast, hard negatives": (
        "contrast",
        {"batch_size": 14, "objective": "supcon", "hard_negatives": 2, "class_texts": "names"},
    ),
    "simcse": ("simcse", {"batch_size": 13}),
    "mirror": ("mirror", {"batch_size": 13, "chunk": 4}),
    "mnr": ("mnr", {"batch_size": 11}),
    "denoise": ("denoise", {"batch_size": 6}),
    "denoise, tied": ("denoise", {"batch_size": 7, "decoder": "tied", "noise": "mask"}),
    "joint": ("joint", {"batch_size": 9}),
    "joint, alternate": ("joint", {"batch_size": 9, "mix": "alternate"}),
    "cosine": ("cosine", {"batch_size": 7}),
    "multitask, in turn": ("multitask", {"batch_size": 3, "mix": "round_robin", "tasks": WEIGHTS}),
    "multitask, mixed": ("multitask", {"batch_size": 5, "mix": "mixed", "tasks": WEIGHTS}),
    "multitask, union": ("multitask", {"batch_size": 3, "mix": "union", "tasks": WEIGHTS}),
    "multitask, frozen": ("multitask", {"batch_size": 5, "mix": "mixed", "freeze": True}),
    "self-train": ("self-train", {"batch_size": 10, "rounds": 1, "folds": 2, "max_steps": 9}),
    "self-train, class texts": (
        "self-train",
        {"batch_size": 10, "rounds": 1, "folds": 2, "max_steps": 9, "class_texts": "names"},
    ),
}
WITH_DROPOUT = {name: TRAINED[name] for name in ("finetune", "contrast, noise in chunks", "joint", "multitask, mixed")}


def data_of(kind: str, name: str, model: Model) -> PhaseData:
    """The rows of a job: three classes of uneven size, so that contrast corrects the imbalance with noisy copies."""
    if kind == "multitask":
        return tasks_of(model)
    texts, labels = make_table(sizes=(30, 17, 12))
    unlabelled = make_table(24, seed=1)[0] if kind == "self-train" else ()
    data = make_data(model.encoder, texts, labels, unlabelled=unlabelled)
    if "weights of rows" in name:
        return replace(data, weights=np.linspace(0.1, 1.9, len(data.texts), dtype=np.float32))
    return data


def built(name: str, folder: Path) -> Phase:
    """The phase of a job."""
    kind, options = TRAINED[name]
    model: Model = fresh_model(folder)
    return make_phase(kind, model, data_of(kind, name, model), **{**COMMON, **options})


SHARDED = ("finetune", "joint", "multitask, union", "self-train")


@contextmanager
def fully_sharded() -> Iterator[None]:
    """FSDP, which Accelerate supports on GPUs only; torch also has it on CPUs."""
    plugin = FullyShardedDataParallelPlugin(
        fsdp_version=2,
        auto_wrap_policy="transformer_based_wrap",
        transformer_cls_names_to_wrap=["BertLayer"],
        cpu_ram_efficient_loading=False,
    )
    state, before = AcceleratorState(), AcceleratorState().distributed_type
    try:
        state.fsdp_plugin = plugin
        for shared in (state._shared_state, PartialState._shared_state):
            shared["distributed_type"] = DistributedType.FSDP
        yield
    finally:
        for shared in (state._shared_state, PartialState._shared_state):
            shared["distributed_type"] = before


def resumed(name: str, folder: Path) -> dict[str, torch.Tensor]:
    """The weights of a job without dropout that is stopped after two steps and resumed from a checkpoint."""
    saved: dict[str, Any] = {}
    accelerator = make_accelerator("cpu", "no")
    with fully_sharded():
        for number in range(2):
            phase = built(name, folder)
            set_dropout(phase, 0.0)
            if number:
                put_weights(saved["tensors"], phase=phase)

            def save(state: PhaseState, number: int = number) -> None:
                assert any(isinstance(value, DTensor) for value in state.optimiser.param_groups[0]["params"])
                saved["last"] = weights(state.phase)
                if state.step == 2 and not number:
                    tensors = weights_of(phase=state.phase) | state.tensors()
                    saved.update(tensors={key: value.clone() for key, value in tensors.items()}, facts=state.facts())

            resume = (lambda state: state.load(saved["tensors"], saved["facts"])) if number else None
            for _ in train_phase(phase, accelerator, seed=0, on_step_end=save, resume=resume):
                pass
    return saved["last"]


def trained(name: str, folder: Path) -> dict[str, torch.Tensor]:
    """The weights after the last step of a job without dropout, and its scores, in any number of processes."""
    phase = built(name, folder)
    set_dropout(phase, 0.0)
    before, last = weights(phase), dict[str, torch.Tensor]()
    accelerator = make_accelerator("cpu", "no", skips_parameters=phase.options.skips_parameters)
    # The best weights, which the phase restores in the end, may be those before the first step.
    events = list(train_phase(phase, accelerator, seed=0, on_step_end=lambda state: last.update(weights(state.phase))))
    assert not same(before, last)
    scored = [event for event in events if isinstance(event, Scored)]
    return last | {f"{SCORES}{event.step}": torch.tensor(list(event.scores.values())) for event in scored}


def trained_rows(name: str, folder: Path) -> dict[str, torch.Tensor]:
    """The rows of every batch that this process trained on, with dropout."""
    phase = built(name, folder)
    seen: dict[str, torch.Tensor] = {}
    loss = phase.loss

    def recording(encoded: Any, batch: Batch) -> Any:
        for key, rows in batch.draw.items():
            own = rows[: division(len(batch.whole[key]), batch.rank, batch.processes)]
            seen[f"{len(seen)}.{key}"] = torch.from_numpy(np.ascontiguousarray(own))
        return loss(encoded, batch)

    phase.loss = recording  # type: ignore[method-assign]
    accelerator = make_accelerator("cpu", "no", skips_parameters=phase.options.skips_parameters)
    for _ in train_phase(phase, accelerator, seed=0, fixed_steps=4):
        pass
    return seen


def evaluated(folder: Path) -> dict[str, torch.Tensor]:
    """Vectors of rows, some of them equal, which the processes encode together, and how many this one encoded."""
    encoder = fresh_model(folder).encoder
    tokens, counts = encoder.tokenise([*make_table(50)[0], *make_table(20)[0]]), [0]
    encoder.register_forward_pre_hook(lambda _, given: counts.append(len(given[0]["input_ids"])))
    with shared_encoding(encoder):
        vectors = encode_rows(encoder, tokens, batch_size=4)
    return {"vectors": vectors, "encoded": torch.tensor(sum(counts))}


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
    left, right = (torch.ones(4 // processes, 3, dtype=torch.float64, requires_grad=True) for _ in range(2))
    ((gather(left) + gather(right)) ** 2).sum().backward()
    return {"left": left.grad / processes, "right": right.grad / processes}


def main(folder: Path, noisy: Path, out: Path) -> None:
    """All jobs as one rank."""
    torch.set_num_threads(1)
    gc.freeze()  # every phase collects garbage and need not scan what was imported
    accelerator = make_accelerator("cpu", "no")
    rank, count = accelerator.process_index, accelerator.num_processes
    assert count == int(os.environ["WORLD_SIZE"])
    jobs: dict[str, Callable[[], dict[str, torch.Tensor]]] = {
        f"gather-{name}": lambda name=name: gathered(name, rank, count) for name in OBJECTIVES
    }
    jobs["shared"] = lambda: shared(rank, count)
    jobs["evaluated"] = lambda: evaluated(folder)
    jobs |= {name: lambda name=name: trained(name, folder) for name in TRAINED}
    jobs |= {f"sharded-{name}": lambda name=name: fully_sharded()(trained)(name, folder) for name in SHARDED}
    jobs["resumed"] = lambda: resumed("finetune", folder)
    jobs |= {f"rows-{name}": lambda name=name: trained_rows(name, noisy) for name in WITH_DROPOUT}
    for name, job in jobs.items():
        tensors = job()
        save_file({key: value.contiguous() for key, value in tensors.items()}, out / f"{name}-{rank}.safetensors")
    torch.distributed.destroy_process_group()


def launch(folder: Path, noisy: Path, out: Path, processes: int = 2) -> None:
    """Start all ranks and wait for them; `noisy` is an encoder with dropout, `folder` one without."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    shared = {"WORLD_SIZE": str(processes), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    own = {"OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "1"}
    started = [
        subprocess.Popen(
            [sys.executable, __file__, str(folder), str(noisy), str(out)],
            env={**os.environ, **shared, **own, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(processes)
    ]
    try:
        outputs = [process.communicate(timeout=400)[0] for process in started]
    finally:
        for process in started:
            process.kill()
    assert all(process.returncode == 0 for process in started), "\n".join(outputs)


def largest_difference(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> float:
    """The largest difference of two sets of tensors with the same names."""
    assert one.keys() == other.keys()
    return max((one[key] - other[key]).abs().max().item() for key in one)


if __name__ == "__main__":
    np.random.seed(0)  # noqa: NPY002 - must not matter
    main(*map(Path, sys.argv[1:]))
