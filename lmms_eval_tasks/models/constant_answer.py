"""`constant_answer`: the floor of a responder that always says the same."""

from __future__ import annotations

from typing import Any

from lmms_eval_tasks.models.base import Request, RequestModel


class ConstantAnswer(RequestModel):
    """Gives one response to every request.

    Args:
        response: The response, ``A`` by default.
        **host: ``batch_size`` and ``device``, as lmms-eval passes them.
    """

    def __init__(self, response: str = "A", **host: Any) -> None:
        super().__init__(**host)
        self.response = str(response)

    def answer(self, request: Request) -> str:
        """The constant."""
        return self.response
