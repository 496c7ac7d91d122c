"""Idempotency keys: a repeated request gets the answer it had, a changed one is refused."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass

from .errors import AdcpError
from .rpc import Json
from .store import Shelf
from .task import Answer

NOT_COMPARED = frozenset({"idempotency_key", "context"})  # the key itself, and what is only echoed


@dataclass(frozen=True, slots=True)
class _Receipt:
    fingerprint: str
    answer: Answer


class Receipts:
    """The successes of mutating tasks, by scope and key; failures are not kept: they may be retried."""

    def __init__(self) -> None:
        self._receipts: Shelf[_Receipt] = Shelf()

    def once(self, scope: str, tool: str, arguments: Json, run: Callable[[], Answer]) -> tuple[Answer, bool]:
        """Return the answer to a request, and whether an earlier one had it.

        Raises:
            AdcpError: the key was used for another request, or the task failed.
        """
        key = f"{scope}:{arguments['idempotency_key']}"
        compared = {name: value for name, value in arguments.items() if name not in NOT_COMPARED}
        canonical = json.dumps([tool, compared], sort_keys=True)
        fingerprint = hashlib.sha256(canonical.encode()).hexdigest()
        receipt = self._receipts.get(key)
        if receipt is None:
            answer = run()
            self._receipts[key] = _Receipt(fingerprint, answer)
            return answer, False
        if receipt.fingerprint != fingerprint:
            raise AdcpError(
                "IDEMPOTENCY_CONFLICT", "The idempotency key was used for another request: send a new one."
            )
        return receipt.answer, True
