"""When checkpoints are written, what they contain, and how a fit resumes from one."""

from __future__ import annotations

import time
import zlib
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list
from torch import Tensor

from phasefit.errors import Interrupted
from phasefit.models.model import Model
from phasefit.phases.contract import Phase
from phasefit.runs.fitting.kept_phases import keep_phase
from phasefit.runs.fitting.snapshots import Snapshots
from phasefit.training.checkpoints import Checkpoint, write_checkpoint
from phasefit.training.state import PhaseState, put_weights, weights_of

if TYPE_CHECKING:
    from phasefit.runs.fitting.fit import Fitted
    from phasefit.runs.stop import Stop

SNAPSHOT = "snapshot."


class ResumePoint:
    """A checkpoint to resume from: in the middle of phase number `index`, or at its end."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._tensors = checkpoint.tensors
        self.index = int(checkpoint.facts["index"])
        self.state: dict[str, Any] | None = checkpoint.facts["state"]

    def is_past(self, index: int) -> bool:
        """Whether this phase was finished when the checkpoint was written."""
        return index < self.index or (index == self.index and self.state is None)

    def where(self, phase: Phase) -> str:
        """The position as text; `phase` is phase number `index`."""
        return (
            f"after the end of {phase.name}" if self.state is None else f"{phase.name} after step {self.state['step']}"
        )

    def put_weights(self, model: Model, phase: Phase) -> None:
        """Load the weights into a model for which the same phases were built but not trained."""
        if self.state is None:
            put_weights(self._tensors, model=model)
        else:
            put_weights(self._tensors, model=model, phase=phase)

    def put_state(self, state: PhaseState) -> None:
        """Load the optimiser, the best weights and the position in the phase."""
        assert self.state is not None
        state.load(self._tensors, self.state)


class NullCheckpointer:
    """The checkpointer of a fit that cannot be resumed: it saves nothing."""

    keeps: ClassVar[bool] = False
    facts: ClassVar[dict[str, Any]] = {}
    snapshots: ClassVar[Snapshots | None] = None

    def resume_point(self) -> ResumePoint | None:
        """None: every fit starts from the beginning."""
        return None

    def check_stop(self) -> None:
        """Do nothing: signals are not handled."""

    def training(self) -> AbstractContextManager[None]:
        """Signals are not deferred."""
        return nullcontext()

    def on_step_end(self, model: Model, fitted: Fitted, index: int, state: PhaseState) -> None:
        """Do nothing."""

    def on_phase_end(self, accelerator: Accelerator, model: Model, fitted: Fitted, index: int) -> None:
        """Do nothing."""


class Checkpointer:
    """Writes checkpoints of a run: every few minutes, at the end of each phase, and before the run is stopped."""

    keeps: ClassVar[bool] = True

    def __init__(
        self,
        run: Path,
        stop: Stop,
        *,
        minutes: float,
        checkpoint: Checkpoint | None = None,
        keep_phases: bool = False,
    ) -> None:
        self.common: dict[str, Any] = {}  # facts in every checkpoint of the current fit
        self._keep_phases = keep_phases
        self.run = run
        self._stop, self._seconds = stop, 60 * minutes
        self._last = time.monotonic()
        self._checkpoint = checkpoint

    def share_folder(self, accelerator: Accelerator) -> None:
        """Learn the folder of the run from the process that writes it, which may have chosen its name."""
        if accelerator.num_processes > 1:
            self.run = Path(broadcast_object_list([str(self.run)])[0])

    @property
    def facts(self) -> dict[str, Any]:
        """The facts of the checkpoint that the run resumes from; empty without one."""
        return {} if self._checkpoint is None else self._checkpoint.facts

    @property
    def snapshots(self) -> Snapshots | None:
        """The snapshots saved in that checkpoint."""
        saved = self.facts.get("snapshots")
        if self._checkpoint is None or saved is None:
            return None
        tensors = self._checkpoint.tensors
        count = sum(name.startswith(SNAPSHOT) for name in tensors)
        return Snapshots.from_json(saved, [tensors[f"{SNAPSHOT}{number}"].numpy() for number in range(count)])

    def resume_point(self) -> ResumePoint | None:
        """The checkpoint to resume from; it is released, so that its memory is freed after use."""
        checkpoint, self._checkpoint = self._checkpoint, None
        return None if checkpoint is None else ResumePoint(checkpoint)

    def check_stop(self) -> None:
        """Stop if a signal has arrived."""
        self._stop.check()

    def training(self) -> AbstractContextManager[None]:
        """During a phase, signals are deferred until the end of a step."""
        return self._stop.deferred()

    def on_step_end(self, model: Model, fitted: Fitted, index: int, state: PhaseState) -> None:
        """Write a checkpoint if one is due or the run must stop; then stop if it must."""
        due, stop = self._agreed(state.accelerator)
        if due or stop:
            tensors = weights_of(model=model, phase=state.phase) | state.tensors()
            self._write(state.accelerator, tensors, fitted, index, state.facts())
        if stop:
            raise Interrupted(signal=stop)

    def on_phase_end(self, accelerator: Accelerator, model: Model, fitted: Fitted, index: int) -> None:
        """Write a checkpoint with the model only. Processes that must stop do so together."""
        if self._keep_phases and accelerator.is_main_process:  # first: the checkpoint marks the phase as done
            keep_phase(self.run, fitted.phases[-1]["name"], model.encoder)
        self._write(accelerator, weights_of(model=model), fitted, index, None)
        _, stop = self._agreed(accelerator)
        if stop:
            raise Interrupted(signal=stop)

    def _write(
        self,
        accelerator: Accelerator,
        tensors: dict[str, Tensor],
        fitted: Fitted,
        index: int,
        state: dict[str, Any] | None,
    ) -> None:
        if accelerator.is_main_process:
            facts = {"index": index, "state": state, "snapshots": None, **fitted.to_json(), **self.common}
            if fitted.snapshots is not None:
                facts["snapshots"] = fitted.snapshots.to_json()
                for number, vectors in enumerate(fitted.snapshots.arrays):
                    tensors[f"{SNAPSHOT}{number}"] = torch.from_numpy(vectors)
            write_checkpoint(self.run, tensors, facts)
        self._last = time.monotonic()

    def _agreed(self, accelerator: Accelerator) -> tuple[bool, int]:
        """Whether a checkpoint is due, and the signal to stop with: the same in every process."""
        due, stop = time.monotonic() - self._last >= self._seconds, self._stop.pending or 0
        if accelerator.num_processes == 1:
            return due, stop
        own = torch.tensor([due and accelerator.is_main_process, stop], device=accelerator.device)
        gathered = accelerator.gather(own[None])
        return bool(gathered[:, 0].any()), int(gathered[:, 1].max())


def fingerprint(model: Model) -> int:
    """A checksum of all weights, to recognise the model that a run started from."""
    total = 0
    for value in weights_of(model=model).values():
        total = zlib.crc32(value.cpu().contiguous().view(-1).view(torch.uint8).numpy().data, total)
    return total
