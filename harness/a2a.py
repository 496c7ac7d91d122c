"""How a client gets AdCP data and AdCP errors out of A2A tasks: the two reference algorithms.

They follow the words and the reference code of the AdCP pages "A2A response extraction" and "Transport error mapping".
Where code and words disagree, the words count: letters of a state are made lower case in ASCII alone, and errors are
looked for in A2A 1.0 too (parts without `kind`, envelopes), which the code of the second page does not know.
Everything here is a pure function of its argument and never raises.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from string import ascii_lowercase, ascii_uppercase
from typing import Any

from .extraction import ErrorExtraction, Path, Reason, checked, member
from .jsontext import pointer, truthy

ENVELOPES = frozenset({"task", "message", "statusUpdate", "artifactUpdate"})
FINAL_STATES = frozenset({"completed", "failed", "canceled", "rejected"})
INTERIM_STATES = frozenset({"working", "submitted", "input-required", "auth-required"})
_NORMAL = str.maketrans(ascii_uppercase + "_", ascii_lowercase + "-")

_Tokens = tuple[str | int, ...]  # of a JSON pointer
_DataPart = tuple[dict[str, Any], _Tokens]  # its data and where that stands


@dataclass(frozen=True, slots=True, eq=False)
class A2AExtraction:
    """What success extraction gives.

    Attributes:
        data: the AdCP payload, or None. An adcp_error in it is left there.
        path: where it was found; also where it is a wrapper.
        pointer: JSON pointer into the response of where it was found, or of the value that ended the search.
        reason: why there is none; None where there is one.
        state: the state of the task, normalised; None where it has none.
    """

    data: dict[str, Any] | None = field(repr=False)
    path: Path
    pointer: str = ""
    reason: Reason | None = None
    state: str | None = None

    @property
    def refused(self) -> bool:
        """Whether a client has to raise an error, where finding nothing is not enough."""
        return self.reason is Reason.WRAPPER


# -- success ------------------------------------------------------------------------------------------------


def extract_a2a(response: Any) -> A2AExtraction:
    """Extract the AdCP payload from an A2A task or an update of its status, bare or in an envelope.

    Args:
        response: it as it came, of any shape.
    """
    task, opened = _unwrap(response)
    if _is_nested(task, opened):
        return A2AExtraction(None, Path.NONE, pointer(*opened), Reason.NESTED_ENVELOPE)
    state = normalize_state(member(member(task, "status"), "state"))
    if not state:
        return A2AExtraction(None, Path.NONE, pointer(*opened), Reason.NO_STATE)
    if state in FINAL_STATES:
        last = deque(_data_parts(_first_artifact(task), (*opened, "artifacts", 0)), maxlen=1)
        if last:
            return _from_artifact(*last[0], state)
    elif state not in INTERIM_STATES:
        place = pointer(*opened, "status", "state")
        return A2AExtraction(None, Path.NONE, place, Reason.UNKNOWN_STATE, state)
    return _from_message(task, opened, state)


def normalize_state(state: Any) -> str | None:
    """Return a state as A2A 0.3 writes it, known or not; None for what is no string."""
    return state.removeprefix("TASK_STATE_").translate(_NORMAL) if isinstance(state, str) else None


def _first_artifact(task: Any) -> Any:
    """Return `task.artifacts?.[0]`, which JavaScript also reads of an object that has such a name."""
    artifacts = member(task, "artifacts")
    if isinstance(artifacts, list):
        return artifacts[0] if artifacts else None
    return member(artifacts, "0")


def _from_artifact(data: dict[str, Any], where: _Tokens, state: str) -> A2AExtraction:
    if data.keys() == {"response"} and isinstance(data["response"], dict):
        return A2AExtraction(None, Path.ARTIFACT, pointer(*where), Reason.WRAPPER, state)
    return A2AExtraction(data, Path.ARTIFACT, pointer(*where), state=state)


def _from_message(task: Any, opened: _Tokens, state: str) -> A2AExtraction:
    for data, where in _message_parts(task, opened):
        return A2AExtraction(data, Path.STATUS_MESSAGE, pointer(*where), state=state)
    return A2AExtraction(None, Path.NONE, reason=Reason.NO_DATA_PART, state=state)


# -- error --------------------------------------------------------------------------------------------------


def extract_a2a_error(response: Any) -> ErrorExtraction:
    """Extract the AdCP error from an A2A task or an update of its status, bare or in an envelope.

    The state does not matter. The first adcp_error counts: an invalid one ends the search, no later place is tried.
    """
    task, opened = _unwrap(response)
    if _is_nested(task, opened):
        return ErrorExtraction(None, Path.NONE, pointer(*opened), Reason.NESTED_ENVELOPE)
    artifacts = member(task, "artifacts")
    for index, artifact in enumerate(artifacts if isinstance(artifacts, list) else []):
        for data, where in _data_parts(artifact, (*opened, "artifacts", index)):
            if truthy(data.get("adcp_error")):
                return checked(data["adcp_error"], Path.ARTIFACT, pointer(*where, "adcp_error"))
    for data, where in _message_parts(task, opened):
        if truthy(data.get("adcp_error")):
            return checked(data["adcp_error"], Path.STATUS_MESSAGE, pointer(*where, "adcp_error"))
    return ErrorExtraction(None, Path.NONE, reason=Reason.NO_ADCP_ERROR)


# -- both ---------------------------------------------------------------------------------------------------


def _unwrap(response: Any) -> tuple[Any, _Tokens]:
    """Open an envelope, once; return what is in it and the name it stood under, or else the response and no name."""
    if isinstance(response, dict) and len(response) == 1:
        ((name, inner),) = response.items()
        if name in ENVELOPES and isinstance(inner, dict):
            return inner, (name,)
    return response, ()


def _is_nested(task: Any, opened: _Tokens) -> bool:
    """Tell whether what came out of an envelope would pass as one again, even if it holds more."""
    return bool(opened) and not ENVELOPES.isdisjoint(task)


def _message_parts(task: Any, opened: _Tokens) -> Iterator[_DataPart]:
    message = member(member(task, "status"), "message")
    return _data_parts(message, (*opened, "status", "message"))


def _data_parts(holder: Any, at: _Tokens) -> Iterator[_DataPart]:
    """Yield the data of each DataPart of an artifact or a message, and where it stands; `kind` does not matter."""
    parts = member(holder, "parts")
    for index, part in enumerate(parts if isinstance(parts, list) else []):
        data = member(part, "data")
        if isinstance(data, dict):
            yield data, (*at, "parts", index, "data")
