"""Any JSON body gets an answer or a refusal, never a failure."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phasefit.serve.limits import Limits
from served import FakeModel, client_of, made_service

NAMES = ["input", "inputs", "model", "task", "encoding_format", "dimensions", "truncate", "normalize", "parameters"]
NAMES += ["top_k", "raw_scores", "use_activation", "truncation_direction", "messages", "user"]
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=3)
)
texts = st.text(min_size=1) | st.lists(st.text(min_size=1), max_size=4)
bodies = values | st.dictionaries(st.sampled_from(NAMES), values | texts, max_size=6)
HEADERS = {"content-type": "application/json"}
FINE = {200, 404, 413, 422}


@pytest.mark.parametrize("path", ["/v1/classify", "/v1/embeddings", "/predict", "/embed", "/"])
def test_every_body_is_answered_or_refused(path: str) -> None:
    service = made_service({"fake": FakeModel()}, Limits(max_texts=3, max_characters=50, max_body=5000))

    async def send(every: list[Any]) -> None:
        async with client_of(service) as client:
            for body in every:
                response = await client.post(path, content=json.dumps(body), headers=HEADERS)
                assert response.status_code in FINE, (body, response.text)
                response.json()

    @settings(max_examples=25, deadline=None, database=None)
    @given(st.lists(bodies, min_size=1, max_size=8))
    def check(every: list[Any]) -> None:
        asyncio.run(send(every))

    check()
