"""The AdCP agent: checks a request, runs its task, puts the envelope round the answer."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

from . import arguments as checks
from . import booking, creatives, discovery, media_buys, polling, signals
from .catalogue import stocked_store
from .errors import AdcpError
from .idempotency import Receipts
from .options import Release
from .rpc import Json
from .store import Account
from .task import Answer, Desk, Task

MAJOR = 3
ALL_TASKS = (
    *discovery.TASKS,
    *booking.TASKS,
    *media_buys.TASKS,
    *creatives.TASKS,
    *signals.TASKS,
    *polling.TASKS,
)


class Agent:
    """One seller's tasks and memory."""

    def __init__(self, release: Release, *, json_text: bool = False) -> None:
        self.release = release
        self._json_text = json_text
        self.tasks = {task.name: task for task in ALL_TASKS if task.since <= release}
        self._schemas = {
            name: checks.Validator(task.input_schema(release)) for name, task in self.tasks.items()
        }
        self._store = stocked_store()
        self._receipts = Receipts()

    def call(self, task: Task, arguments: Json) -> Json:
        """Run a task and return the MCP tool result: a success, or an error that is flagged as one."""
        try:
            answer, replayed = self._run(task, arguments)
        except AdcpError as failure:
            return self._failure(failure.to_json(), arguments)
        payload = {"status": "completed", **answer.payload}
        if self._is_sandboxed(arguments.get("account")):
            payload["sandbox"] = True
        if replayed:
            payload["replayed"] = True
        data = self._enveloped(payload, arguments)
        content = [{"type": "text", "text": answer.text}]
        if self._json_text:
            content.append({"type": "text", "text": json.dumps(data, ensure_ascii=False)})
        return {"content": content, "structuredContent": data, "isError": False}

    def _failure(self, error: Json, arguments: Json) -> Json:
        payload = {"status": "failed", "adcp_error": error, "errors": [error]}
        mirror = json.dumps({"adcp_error": error}, ensure_ascii=False)
        return {
            "content": [{"type": "text", "text": mirror}, {"type": "text", "text": error["message"]}],
            "structuredContent": self._enveloped(payload, arguments),
            "isError": True,
        }

    def _enveloped(self, payload: Json, arguments: Json) -> Json:
        if self.release >= Release.V3_1:
            payload["adcp_version"] = self.release.value
        if isinstance(arguments.get("context"), dict):
            payload["context"] = arguments["context"]
        return payload

    def _is_sandboxed(self, reference: object) -> bool:
        named = isinstance(reference, dict) and reference.get("sandbox") is True
        return named or self._store.find_account(reference) is not None

    def _run(self, task: Task, arguments: Json) -> tuple[Answer, bool]:
        self._check_version(arguments)
        self._schemas[task.name].check(arguments)
        if self.release >= Release.V3_1:
            checks.refuse_credentials(arguments)
        desk = Desk(self.release, self._store, datetime.now(UTC), self._account(task, arguments))
        if not task.mutating:
            return task.run(desk, arguments), False
        scope = desk.account.account_id if desk.account else ""
        return self._receipts.once(scope, task.name, arguments, lambda: task.run(desk, arguments))

    def _check_version(self, arguments: Json) -> None:
        major = arguments.get("adcp_major_version", MAJOR)
        release = arguments.get("adcp_version")
        match = re.fullmatch(r"(\d+)\.\d+(-.*)?", release) if isinstance(release, str) else None
        # A pre-release would have to be spoken exactly, and this seller speaks none.
        wrong_release = match is not None and (match[1] != str(MAJOR) or match[2] is not None)
        wrong_major = isinstance(major, int | float) and major != MAJOR
        if wrong_release or wrong_major:
            details = {"supported_versions": [self.release.value], "supported_majors": [MAJOR]}
            raise AdcpError("VERSION_UNSUPPORTED", "This AdCP version is not supported.", details=details)

    def _account(self, task: Task, arguments: Json) -> Account | None:
        reference = arguments.get("account")
        if reference is None or not task.mutating:
            return self._store.find_account(reference)
        account = self._store.open_account(reference)
        if account is None:
            raise AdcpError(
                "ACCOUNT_NOT_FOUND",
                "No such account: this seller books in sandbox accounts only.",
                field="account",
            )
        return account
