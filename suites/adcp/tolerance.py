"""What a request may carry beyond what the task needs, and what it must not."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from pytest_adcp.harness.calls import Probe
from pytest_adcp.harness.jsonvalues import pointer
from pytest_adcp.harness.probes.credentials import MADE_UP
from pytest_adcp.harness.probes.tolerance import UNKNOWN_MEMBER, envelope
from pytest_adcp.harness.rules import Broken, Level, NotApplicable, rule
from pytest_adcp.harness.sources import AUTHENTICATION, MCP_GUIDE, SECURITY, TRANSPORT_ERRORS, adcp
from pytest_adcp.harness.subjects import Answer, Probed
from pytest_adcp.harness.text import quote

from .barred import not_put_off
from .refusals import (
    ARGUMENT_CODES,
    accepted,
    code,
    gist,
    is_invalid_params,
    named,
    place,
    words,
)

# How frameworks refuse an argument that they were not told about, and what makes each of them take it.
_STRANGERS: Sequence[tuple[re.Pattern[str], str]] = (
    (
        re.compile(r"unexpected_keyword_argument|unexpected keyword argument", re.IGNORECASE),
        "FastMCP and Python refuse arguments that the tool function does not declare: declare them as optional parameters, or "
        "drop what the function does not know in a middleware before it is called",
    ),
    (
        re.compile(r"extra_forbidden|extra (?:inputs|fields) (?:are )?not permitted", re.IGNORECASE),
        'the request model forbids extra members: set model_config = ConfigDict(extra="ignore") in Pydantic',
    ),
    (
        re.compile(r"unrecognized[ _]key", re.IGNORECASE),
        "the zod schema of the request is strict: use z.looseObject(...) or .passthrough(), not .strict()",
    ),
    (
        re.compile(r"additional ?propert", re.IGNORECASE),
        "the schema that requests are checked with has additionalProperties: false; AdCP's own allow further members: set it to true",
    ),
    (
        re.compile(
            r"\b(?:unknown|unexpected|unrecognized|unsupported) (?:field|argument|parameter|propert|member)",
            re.IGNORECASE,
        ),
        "let the check of arguments pass over what it does not know",
    ),
)
# Members that a server may look into where it has a use for them.
_READ_BY_SOME = frozenset({"context_id", "governance_context"})
_DEEP = 64  # levels of an answer that a pointer goes down


@rule(
    "adcp.envelope.tolerates-envelope-fields",
    level=Level.MUST,
    source=adcp(MCP_GUIDE, "server-side-tool-wrappers-must-tolerate-envelope-fields"),
    since="3.1",
    advisory_since="3.0",
    probes=[Probe.ENVELOPE_FIELDS],
)
def envelope_fields_are_tolerated(probed: Probed) -> None:
    """Every task accepts idempotency_key, context_id, governance_context and ext, whether it has a use for them or not.

    Accept these four beside the task's own arguments and ignore them where they mean nothing.
    """
    _tolerated(probed, envelope(probed.call.tool, ""))


@rule(
    "adcp.envelope.tolerates-unknown-fields",
    level=Level.MUST,
    source=adcp(SECURITY, "server-side-tool-wrapper-conformance"),
    since="3.1",
    advisory_since="3.0",
    probes=[Probe.UNKNOWN_FIELD],
)
def unknown_fields_are_tolerated(probed: Probed) -> None:
    """A task ignores members of a request that it does not know: AdCP's request schemas leave room for them.

    Ignore what you do not know. A buyer of a newer release sends members that your release does not have.
    """
    _tolerated(probed, (UNKNOWN_MEMBER,))


def _tolerated(probed: Probed, added: Collection[str]) -> None:
    """Judge the refusal of a request that was accepted without the added members."""
    answer = probed.answer
    if accepted(answer):
        return
    if not all(accepted(before) for before in probed.before):
        raise NotApplicable("the same request without these members is refused as well")
    said, found = words(answer), code(answer)
    strange = next((cure for pattern, cure in _STRANGERS if pattern.search(said)), None)
    names = named(added, said)
    not_put_off(answer)
    if not (strange or found in ARGUMENT_CODES or found is None or is_invalid_params(answer)):
        raise NotApplicable(f"refused for another reason: {quote(found, 60)}")
    if not (strange or names) and (elsewhere := _field(answer)):
        raise NotApplicable(f"refused for another reason: the error names {quote(elsewhere, 60)}")
    lenient = ""
    if not strange and names and _READ_BY_SOME.issuperset(names):
        lenient = "a server that reads this member may refuse a value that it does not know"
    elif not (strange or names or found or is_invalid_params(answer)):
        lenient = "the error does not say what it refuses"
    these = "these members" if len(added) > 1 else "this member"
    what = ", ".join(names) or these
    raise Broken(
        f"the answer that the same request has without {these}",
        gist(answer),
        at=place(answer),
        because=f"the request is answered without {these}, and refused because of {what}: a buyer that sends its envelope "
        "with every request cannot use this task"
        if len(added) > 1
        else f"the request is answered without {what}, and refused with it: a buyer of a newer release cannot use this task",
        fix=strange or "",
        lenient=lenient,
    )


def _field(error: Answer) -> str | None:
    """Return the argument that an error is about, where it has a member for that."""
    fields = (found.get("field") for _, found in error.error_objects())
    return next((field for field in fields if isinstance(field, str) and field), None)


# -- credentials ----------------------------------------------------------------------------------------------


@rule(
    "adcp.security.credential-in-arguments",
    level=Level.SHOULD,
    source=adcp(AUTHENTICATION, "credential-placement"),
    since="3.1",
    probes=[Probe.CREDENTIAL],
)
def credential_in_arguments_is_refused(probed: Probed) -> None:
    """A request with a credential among its arguments is refused with CREDENTIAL_IN_ARGS.

    Look for members such as api_key, client_secret, authorization or access_token anywhere in the arguments (but for
    push_notification_config.authentication), and answer with CREDENTIAL_IN_ARGS, recovery terminal, without the value.
    """
    answer = probed.answer
    if accepted(answer):
        raise Broken(
            "CREDENTIAL_IN_ARGS",
            "an answer as if nothing were wrong",
            at=answer.in_payload(),
            because="ext.api_key was accepted: whoever sends a credential there is never told that it ends up in logs. "
            "For AdCP 3.1 and later the text makes this refusal a MUST since 2026-09-16; here it counts as an advisory",
        )
    found = code(answer)
    if found == "CREDENTIAL_IN_ARGS":
        return
    if found not in ARGUMENT_CODES or not named(("api_key",), words(answer)):
        raise NotApplicable(f"refused for another reason: {quote(found, 60)}")
    raise Broken(
        "CREDENTIAL_IN_ARGS",
        str(found),
        at=place(answer),
        because=f"the credential is refused as {found}; a buyer takes that for a slip in the request, not for a secret to change",
    )


@rule(
    "adcp.security.credential-echo",
    level=Level.MUST,
    source=adcp(TRANSPORT_ERRORS, "security-considerations"),
    probes=[Probe.CREDENTIAL],
)
def credential_is_not_repeated(probed: Probed) -> None:
    """An answer does not repeat a credential that came with the request.

    Leave the value out of messages, details and echoed members; the name of the member is enough.
    """
    at = _holder(probed.answer.message, MADE_UP)
    if at is not None:
        raise Broken(
            "an answer without the credential",
            f"the value of ext.api_key ({quote(MADE_UP)})",
            at=at,
            because="the answer repeats the credential that came with the request; answers go into logs and to language models",
        )


def _holder(message: Mapping[str, Any], value: str) -> str | None:
    """Return the place of a string that holds a value; iterative, since an answer may be deep."""
    stack: list[tuple[tuple[str | int, ...], Any]] = [((), message)]
    while stack:
        path, item = stack.pop()
        if isinstance(item, str) and value in item:
            return pointer(*path)
        members: Iterable[tuple[str | int, Any]] = ()
        if isinstance(item, Mapping):
            members = item.items()
        elif isinstance(item, list):
            members = enumerate(item)
        # Further down, the pointer leads to what holds the place.
        inner = [((*path, key) if len(path) < _DEEP else path, member) for key, member in members]
        stack.extend(reversed(inner))  # the first place comes first
    return None
