"""What fully sharded training refuses; the training itself is in test_processes.py."""

from __future__ import annotations

import copy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from phasefit.errors import PhasefitError
from phasefit.phases import PHASES
from phasefit.training.device import make_accelerator
from phasefit.training.sharding import _check
from tiny import fresh_model, make_data, make_phase, make_table

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("finetune", {"freeze": True}, "option 'freeze'"),
    ("contrast", {"chunk": 4}, "option 'chunk'"),
    ("denoise", {"decoder": "tied"}, "decoder = 'tied'"),
    ("denoise", {"variant": "vae"}, "variant = 'vae'"),
    ("joint", {"denoise": {"decoder": "tied"}}, "decoder = 'tied'"),
]


@pytest.mark.parametrize(("kind", "options", "named"), REFUSED)
def test_options_that_fsdp_does_not_support_are_refused(kind: str, options: dict[str, Any], named: str) -> None:
    phase: Any = SimpleNamespace(name=kind, options=PHASES.get(kind)(kind=kind, **options))
    accelerator: Any = SimpleNamespace(is_fsdp2=True)
    with pytest.raises(PhasefitError, match=f"^{kind}: {named} does not support FSDP; change it"):
        _check(phase, accelerator)


def test_the_first_version_of_fsdp_is_refused() -> None:
    phase: Any = SimpleNamespace(name="finetune", options=PHASES.get("finetune")(kind="finetune"))
    old, new = (SimpleNamespace(is_fsdp2=version == 2) for version in (1, 2))
    with pytest.raises(PhasefitError, match="set fsdp_version: 2"):
        _check(phase, old)  # type: ignore[arg-type]
    assert _check(phase, new) is None  # type: ignore[arg-type, func-returns-value]


def test_fsdp_that_accelerate_would_ignore_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    with pytest.raises(PhasefitError, match="FSDP needs several GPUs: Accelerate ignores it elsewhere"):
        make_accelerator("cpu", "no")


def test_a_copy_of_a_phase_has_its_own_weights_and_the_same_rows(tiny_folder: Path) -> None:
    model = fresh_model(tiny_folder)
    phase = make_phase("mirror", model, make_data(model.encoder, *make_table(40)))
    other: Any = copy.deepcopy(phase)
    assert other.data is phase.data
    assert other.sides._encoder is other.encoder is not phase.encoder
    assert all(one is not two for one, two in zip(phase.parameters(), other.parameters(), strict=True))
