"""The limits of the server; a combination that no request could meet is refused at the start."""

from __future__ import annotations

from dataclasses import dataclass

from phasefit.errors import PhasefitError

LEAST_TOKENS = 2  # that any text is charged with
BYTES_PER_TOKEN = 4  # of English text, about; a charge is an estimate, because a request is admitted before tokenising
MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Limits:
    """What one request may contain, what may wait, and how much is computed at a time."""

    max_texts: int = 256  # per request
    max_characters: int = 20_000  # per text
    max_body: int = 2 * MEGABYTE  # bytes
    timeout: float = 30.0  # seconds from the first byte of a request to its answer
    batch_tokens: int = 4096
    queue_tokens: int = 65_536
    drain_seconds: float = 30.0
    max_connections: int = 1024

    def __post_init__(self) -> None:
        """Refuse limits that contradict each other."""
        if self.queue_tokens < self.batch_tokens:
            raise PhasefitError(
                f"--queue-tokens {self.queue_tokens} is less than --batch-tokens {self.batch_tokens}, so no batch can "
                "be filled; raise the first or lower the second"
            )
        if self.max_texts * LEAST_TOKENS > self.queue_tokens:
            raise PhasefitError(
                f"a request of --max-texts {self.max_texts} would never fit into --queue-tokens {self.queue_tokens}; "
                "lower the first or raise the second"
            )
        if self.max_body <= self.max_characters:
            raise PhasefitError(
                f"a text of --max-characters {self.max_characters} would never fit into --max-body "
                f"{self.max_body / MEGABYTE:g} (in MB); lower the first or raise the second"
            )

    def check_longest(self, name: str, tokens: int) -> None:
        """Refuse a batch that is too small for the longest text of a model."""
        if tokens > self.batch_tokens:
            raise PhasefitError(
                f"--batch-tokens {self.batch_tokens} is too small for model '{name}', whose longest input has {tokens} "
                f"tokens; use at least {tokens}"
            )


def charge(text: str | tuple[str, str], longest: int) -> int:
    """The estimated tokens of a text or pair, which reads at most `longest` tokens."""
    parts = (text,) if isinstance(text, str) else text
    # Bytes, not characters: scripts with several bytes per character have more tokens per character.
    size = sum(len(part) if part.isascii() else len(part.encode()) for part in parts)
    return min(longest, LEAST_TOKENS + size // BYTES_PER_TOKEN)
