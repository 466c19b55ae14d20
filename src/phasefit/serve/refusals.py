"""Refusal: a request that gets no answer, with its HTTP status and one sentence that names the reason."""

from __future__ import annotations

from phasefit.errors import PhasefitError

ERROR_TYPES = {  # the names that text-embeddings-inference uses, by status
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    413: "Validation",
    415: "Validation",
    422: "Validation",
    429: "Overloaded",
    500: "Backend",
    503: "Unhealthy",
    504: "Timeout",
}


class Refusal(PhasefitError):  # noqa: N818 - named after what happens to the request
    """A request that is refused; `field` is the part of the request that is wrong."""

    def __init__(
        self, status: int, message: str, *, field: str | None = None, code: str | None = None, retry_after: int = 0
    ) -> None:
        super().__init__(message)
        self.status, self.field, self.code, self.retry_after = status, field, code, retry_after

    @property
    def error_type(self) -> str:
        """The kind of error, as text-embeddings-inference names it."""
        return ERROR_TYPES.get(self.status, "Validation" if self.status < 500 else "Backend")

    def content(self, *, flat: bool) -> dict[str, object]:
        """The body: `flat` as text-embeddings-inference writes it, otherwise as OpenAI and vLLM do."""
        if flat:
            return {"error": str(self), "error_type": self.error_type}
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        return {"error": {"message": str(self), "type": kind, "param": self.field, "code": self.code or self.status}}


def invalid(field: str, problem: str) -> Refusal:
    """422: a field of the body is wrong."""
    return Refusal(422, f"{field}: {problem}", field=field)


def too_large(message: str, field: str | None = None) -> Refusal:
    """413: the request exceeds a limit of the server."""
    return Refusal(413, message, field=field)
