"""The end of a phase: which weights it leaves. Candidates are compared on validation rows; nothing is trained."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from accelerate import Accelerator

from phasefit.events import Note
from phasefit.phases.contract import Phase
from phasefit.training.averaging import blend_encoder, encoder_weights, put_trained_weights
from phasefit.training.best import Best
from phasefit.training.evaluate import scores_of, solve
from phasefit.training.state import PhaseState

SHARES = (0.3, 0.5, 0.7, 1.0)  # of the trained weights, that `blend = "auto"` compares


def finish(state: PhaseState, repeat: Mapping[str, Any] | None) -> Iterator[Note]:
    """Restore the best weights, then average and blend as the options ask; what was chosen is in `state.choices`.

    `repeat` are the choices of an earlier fit, which refitting uses without validation.
    """
    if not state.best.restore():
        state.best.kept.step = state.step
    if state.best.second.weights:
        yield _choose(state.phase, state.accelerator, state.best)
    if state.average.count and state.phase.options.soup > 1:
        state.choices["soup"] = state.average.count
        yield Note(f"{state.phase.name}: averaged the weights of {state.average.count} trainings")
    elif state.average.count:
        yield from _average(state, repeat)
    if state.before and state.best.kept.step:
        yield from _blend(state, repeat)


def _choose(phase: Phase, accelerator: Accelerator, best: Best) -> Note:
    """Keep the better of the two candidates that evaluations on a sample found, on all validation rows."""
    cap, phase.evaluation_cap = phase.evaluation_cap, None
    later = scores_of(phase, accelerator)[phase.watch]
    best.swap()
    earlier = scores_of(phase, accelerator)[phase.watch]
    if not (earlier < later if phase.lower_is_better else earlier > later):
        best.swap()
    rows = sum(rows for rows, _ in phase.evaluation_parts())
    phase.evaluation_cap = cap
    kept, other = (later, earlier) if best.kept.step > best.second.step else (earlier, later)
    compared = f"{phase.watch} {kept:.4f} against {other:.4f} at step {best.second.step}"
    return Note(f"{phase.name}: chose step {best.kept.step} on all {rows:,} validation rows: {compared}")


def _average(state: PhaseState, repeat: Mapping[str, Any] | None) -> Iterator[Note]:
    """Use the average of the last steps, unless the best weights score higher."""
    phase, steps = state.phase, state.average.count
    best = {name: value.detach().clone() for name, value in phase.named_parameters() if value.requires_grad}
    if repeat is None:
        alone = scores_of(phase, state.accelerator)
        put_trained_weights(phase, state.average.weights)
        solve(phase, state.accelerator)
        averaged = scores_of(phase, state.accelerator)
        used = _gain(phase, averaged, alone) >= 0
        state.choices["average"] = {"steps": steps, "used": used, **_watched(phase, averaged, "score")}
        compared = ""
        if phase.watch in averaged and phase.watch in alone:
            compared = f": {phase.watch} {averaged[phase.watch]:.4f} against {alone[phase.watch]:.4f}"
        what = f"averaged the weights of the last {steps} steps" if used else f"kept step {state.best.kept.step}"
        yield Note(f"{phase.name}: {what}{compared}")
        if used and averaged:
            state.best.kept.scores = averaged
    else:
        used = bool(repeat["average"]["used"]) if "average" in repeat else True
    put_trained_weights(phase, state.average.weights if used else best)
    if used:
        state.best.kept.step = state.step


def _blend(state: PhaseState, repeat: Mapping[str, Any] | None) -> Iterator[Note]:
    """Average the encoder with its weights from before the phase."""
    phase, wanted = state.phase, state.phase.options.blend
    after = encoder_weights(phase)
    scores: dict[float, dict[str, float]] = {}
    if repeat is not None and "blend" in repeat:
        share = float(repeat["blend"]["share"])
    elif wanted == "auto":
        for candidate in SHARES if repeat is None else ():
            blend_encoder(phase, state.before, after, candidate)
            solve(phase, state.accelerator)
            scores[candidate] = scores_of(phase, state.accelerator)
        share = _best_share(phase, scores)
    else:
        share = wanted
    blend_encoder(phase, state.before, after, share)
    watched = {str(one): own[phase.watch] for one, own in scores.items() if phase.watch in own}
    state.choices["blend"] = {"share": share, "scores": watched}
    if scores.get(share):
        state.best.kept.scores = scores[share]
    if repeat is None:
        yield Note(f"{phase.name}: {_blend_sentence(phase, share, watched)}")


def _best_share(phase: Phase, scores: Mapping[float, Mapping[str, float]]) -> float:
    """The share with the best watched score, the largest of equal ones; 1 if there is nothing to compare."""
    sign = -1.0 if phase.lower_is_better else 1.0
    known = {share: sign * own[phase.watch] for share, own in scores.items() if phase.watch in own}
    known = {share: score for share, score in known.items() if not math.isnan(score)}
    return max(known, key=lambda share: (known[share], share)) if known else 1.0


def _blend_sentence(phase: Phase, share: float, scores: Mapping[str, float]) -> str:
    if share == 1:
        what = "left the trained weights unblended"
    else:
        what = f"blended {share:.0%} of the trained weights with {1 - share:.0%} of those before the phase"
    if phase.options.blend != "auto":
        return what
    if not scores:
        return f"{what} (there are no validation rows to choose the share on)"
    others = ", ".join(f"{float(one):.0%}: {score:.4f}" for one, score in scores.items())
    return f"{what}, chosen by {phase.watch} on validation ({others})"


def _gain(phase: Phase, later: Mapping[str, float], earlier: Mapping[str, float]) -> float:
    """How much better the later scores are; 0 if there is nothing to compare."""
    if phase.watch not in later or phase.watch not in earlier or math.isnan(later[phase.watch]):
        return 0.0 if phase.watch not in earlier else -math.inf
    return (-1.0 if phase.lower_is_better else 1.0) * (later[phase.watch] - earlier[phase.watch])


def _watched(phase: Phase, scores: Mapping[str, float], name: str) -> dict[str, float]:
    return {name: scores[phase.watch]} if phase.watch in scores else {}
