"""A bound on the requests that a build sends."""

from __future__ import annotations

import threading

from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.servers.errors import ServerError


class BudgetReached(InputError):
    """As many requests were sent as the user allows."""


class RequestBudget:
    """Counts the requests that are sent, and refuses those that are too many; threads share it."""

    def __init__(self, most: int | None = None) -> None:
        self._left = most
        self._lock = threading.Lock()
        self.sent = 0
        """Requests that were sent."""

    def spend(self) -> None:
        """Count a request that is about to be sent."""
        with self._lock:
            if self._left is not None:
                self._left = max(self._left - 1, -1)
                if self._left < 0:
                    raise ServerError("the budget is reached", again=False)
            self.sent += 1

    def check(self) -> None:
        """Stop where a request could not be sent for want of budget."""
        if self._left is not None and self._left < 0:
            raise BudgetReached(
                f"{self.sent:,} requests were sent, as many as --max-requests allows; no set was written.\n"
                "Every reply is kept: the same command goes on from here, with as many requests more."
            )
