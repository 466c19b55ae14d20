"""The words of an explanation as HTML: background colours, and bars above and below the words for those who see none.

The markup carries no style sheet of its own: `STYLE` is for notebooks, reports have theirs in `page.css`. Everything
is escaped.
"""

from __future__ import annotations

from html import escape

from phasefit.control_characters import escape_controls
from phasefit.explain.results import Explanation, Word

LEVELS = 4  # of strength
STYLE = """
.pf-words{line-height:2.1;overflow-wrap:anywhere}
.pf-words span{border-radius:.2em;padding:.1em .15em;border:0 solid transparent}
.pf-words .for{border-bottom:.2em solid rgba(0,114,178,.9)}
.pf-words .against{border-top:.2em dashed rgba(213,94,0,.9)}
.pf-words .cut{opacity:.55;text-decoration:line-through}
.pf-words .for1{background:rgba(0,114,178,.10)}.pf-words .for2{background:rgba(0,114,178,.22)}
.pf-words .for3{background:rgba(0,114,178,.36)}.pf-words .for4{background:rgba(0,114,178,.52)}
.pf-words .against1{background:rgba(213,94,0,.10)}.pf-words .against2{background:rgba(213,94,0,.22)}
.pf-words .against3{background:rgba(213,94,0,.36)}.pf-words .against4{background:rgba(213,94,0,.52)}
"""


def level(weight: float, largest: float) -> int:
    """The strength of a weight from 0 to LEVELS, relative to the largest of its text."""
    if not largest > 0:
        return 0
    share = abs(weight) / largest
    return 0 if share < 0.05 else min(LEVELS, 1 + int(share * LEVELS))


def largest_weight(explanation: Explanation) -> float:
    """The largest absolute weight of a text."""
    return max((abs(word.weight) for word in explanation.words if word.weight is not None), default=0.0)


def words_html(explanation: Explanation, longest: int | None = None) -> str:
    """The texts with coloured words; `longest` limits the characters of each side."""
    largest, parts = largest_weight(explanation), []
    for side, text in enumerate(explanation.sides):
        end = 0
        shown = []
        for word in (word for word in explanation.words if word.side == side):
            if longest is not None and word.end > longest:
                break
            shown.append(_safe(text[end : word.start]) + _word_html(word, largest))
            end = word.end
        tail = text[end:]
        shown.append("…" if longest is not None and tail.strip() else _safe(tail))
        parts.append(f'<span dir="auto">{"".join(shown)}</span>')
    return f'<span class="pf-words">{" / ".join(parts)}</span>'


def explanation_html(explanation: Explanation) -> str:
    """An explanation for a notebook: what is explained, the words, and the notes."""
    if explanation.label is None:
        head = f"score {explanation.score:.3f}"
    else:
        head = f"{explanation.label} {explanation.probability:.3f}"
    notes = "".join(f"<div><small>{_safe(note)}</small></div>" for note in explanation.notes)
    return f"<style>{STYLE}</style><div><b>{_safe(head)}</b> {words_html(explanation)}{notes}</div>"


def _word_html(word: Word, largest: float) -> str:
    if word.weight is None:
        return f'<span class="cut" title="not read: the text is too long">{_safe(word.text)}</span>'
    strength = level(word.weight, largest)
    if not strength:
        return f'<span title="{word.weight:+.2f}">{_safe(word.text)}</span>'
    way = "for" if word.weight > 0 else "against"
    strong = f"<b>{_safe(word.text)}</b>" if strength == LEVELS else _safe(word.text)
    return f'<span class="{way} {way}{strength}" title="{word.weight:+.2f}">{strong}</span>'


def _safe(text: str) -> str:
    """Text for a page: without markup and control characters."""
    return escape(escape_controls(text))
