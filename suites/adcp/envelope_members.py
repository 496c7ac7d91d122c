"""The envelope's other members: each is left out, or has its own type and says what is true."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pytest_adcp.harness.calls import Probe, Purpose
from pytest_adcp.harness.rules import Broken, Level, NotApplicable, rule
from pytest_adcp.harness.sources import CONTEXT, SANDBOX, SCHEMAS, SECURITY, adcp
from pytest_adcp.harness.subjects import Answer
from pytest_adcp.harness.text import quote

from .failures import kind_of
from .roots import data_root, root, sent_arguments

_TOKEN = re.compile(r"[\x20-\x7e]+")
_LONGEST_TOKEN = 4096
# Probes that send a key which was used: their answers may be replays.
_REPEATS = frozenset({Probe.REPLAY, Probe.KEY_CONFLICT, Probe.FAILURE_AGAIN})
# Tasks whose response schema is closed and has no `sandbox`.
_WITHOUT_SANDBOX = frozenset(
    {
        "accept_proposal",
        "buy_products",
        "control_media_buy",
        "decline_proposals",
        "list_products",
        "refine_proposals",
        "request_proposals",
    }
)


@rule("adcp.envelope.context-id", level=Level.MUST, source=adcp(CONTEXT, "key-identifiers"), since="3.1")
def context_id_is_a_string(answer: Answer) -> None:
    """`context_id`, where an answer has one, is a string.

    Write the id of the conversation as a string; the buyer's own object goes back in `context`.
    """
    value = root(answer).get("context_id")
    if value is None:
        raise NotApplicable("no context_id came")
    if not isinstance(value, str):
        raise Broken(
            "a string",
            quote(value),
            at=answer.in_payload("context_id"),
            because=f"context_id is {kind_of(value)}, not a string; buyers send it back as the string that they expect",
        )


@rule("adcp.envelope.replayed", level=Level.MUST, source=adcp(SECURITY, "response-level-replay-indicator"))
def replayed_is_true_of_replays_only(answer: Answer) -> None:
    """`replayed`, where an answer has it, is a boolean, and true only for a request that repeats an earlier one.

    Set replayed: true where the answer comes out of the idempotency cache, and leave it out everywhere else.
    """
    value = root(answer).get("replayed")
    if value is None:
        raise NotApplicable("no replayed came")
    at = answer.in_payload("replayed")
    if not isinstance(value, bool):
        raise Broken(
            "true or false", quote(value), at=at, because=f"replayed is {kind_of(value)}, not a boolean"
        )
    if value and _is_fresh(answer):
        raise Broken(
            "replayed false or absent",
            "true",
            at=at,
            because="replayed is true, and the request was a new one; a buyer takes a new booking for an old one",
        )


def _is_fresh(answer: Answer) -> bool:
    """Whether a request was sent for the first time, as far as the server can know."""
    if answer.call.purpose is Purpose.CONFIGURED and "idempotency_key" in sent_arguments(answer):
        return False  # the user may have sent this key in an earlier run
    return answer.exchange.attempt == 1 and answer.call.probe not in _REPEATS


@rule("adcp.envelope.governance-context", level=Level.MUST, source=adcp(SCHEMAS), since="3.1")
def governance_context_is_a_token(answer: Answer) -> None:
    """`governance_context`, where an answer has one, is a string of 1 to 4096 printable ASCII characters.

    Pass the governance agent's token on as it came, or leave the member out.
    """
    value = root(answer).get("governance_context")
    if value is None:
        raise NotApplicable("no governance_context came")
    if not isinstance(value, str):
        what = f"is {kind_of(value)}, not a string"
    elif not value:
        what = "is empty"
    elif len(value) > _LONGEST_TOKEN:
        what = f"has {len(value)} characters, and {_LONGEST_TOKEN} are allowed"
    elif not _TOKEN.fullmatch(value):
        what = "holds characters that are not printable ASCII"
    else:
        return
    raise Broken(
        "1 to 4096 printable ASCII characters",
        quote(value),
        at=answer.in_payload("governance_context"),
        because=f"governance_context {what}; no governance agent can verify it",
    )


@rule("adcp.envelope.sandbox", level=Level.SHOULD, source=adcp(SANDBOX, "response-confirmation"))
def sandbox_is_confirmed(success: Answer) -> None:
    """A success for an account that the request marks with sandbox: true has sandbox: true at the root of its payload.

    Set sandbox: true in every success of a sandbox account, so that the buyer knows that nothing real was booked.
    """
    payload = data_root(success)
    account = sent_arguments(success).get("account")
    if not isinstance(account, Mapping) or account.get("sandbox") is not True:
        raise NotApplicable("the request names no account with sandbox: true")
    if success.task.name in _WITHOUT_SANDBOX:
        raise NotApplicable(f"the response schema of {success.task.name} has no sandbox")
    if payload.get("sandbox") is not True:
        raise Broken(
            "sandbox: true",
            quote(payload["sandbox"]) if "sandbox" in payload else "no such member",
            at=success.in_payload("sandbox"),
            because="the account is a sandbox, and the answer does not say sandbox: true; a buyer may think it real",
        )
