"""The AdCP release of an answer: which ones a seller names, and what it makes of one that it is asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pytest_adcp.harness.arguments import shape
from pytest_adcp.harness.calls import Probe, Purpose
from pytest_adcp.harness.classify import Class
from pytest_adcp.harness.error_codes import ERROR_CODES
from pytest_adcp.harness.release import numbers, release_of_version
from pytest_adcp.harness.rules import Broken, Level, NotApplicable, rule
from pytest_adcp.harness.sources import CAPABILITIES_PAGE, ERROR_HANDLING, VERSIONING, adcp
from pytest_adcp.harness.subjects import Answer, Capabilities, Probed
from pytest_adcp.harness.text import quote
from pytest_adcp.harness.wrappers import has_root

from .barred import not_barred, shown
from .failures import kind_of
from .refusals import code
from .roots import data_root, is_error_alone, root, sent_arguments, speaks

_NEGOTIATION = adcp(VERSIONING, "version-negotiation")
_RELEASE = re.compile(r"[0-9]{1,6}\.[0-9]{1,6}(-[a-zA-Z0-9.-]{1,200})?")
_UNSUPPORTED = "VERSION_UNSUPPORTED"
_MAJOR, _VERSION = "adcp_major_version", "adcp_version"
_LISTED = 100  # entries of supported_versions that are looked at


# -- what the seller names ---------------------------------------------------------------------------------------


@rule(
    "adcp.versions.supported",
    level=Level.MUST,
    source=adcp(VERSIONING, "migration-timeline"),
    since="3.2",
    advisory_since="3.1",
)
def supported_versions_are_named(capabilities: Capabilities) -> None:
    """get_adcp_capabilities names the releases that are served in adcp.supported_versions.

    Send "adcp": {"supported_versions": ["3.0", "3.1"], ...} beside major_versions: buyers choose a release from it.
    """
    block = _block(capabilities)
    if "supported_versions" in block:
        return
    raise Broken(
        'supported_versions, such as ["3.1"]',
        quote(list(block)[:12]),
        at=capabilities.answer.in_payload("adcp"),
        because="adcp.supported_versions is missing: a buyer cannot tell which release of AdCP 3 it may ask for",
        lenient="" if speaks(capabilities.answer, "3.2") else "a SHOULD before 3.2",
    )


@rule("adcp.versions.supported-form", level=Level.MUST, source=adcp(CAPABILITIES_PAGE))
def supported_versions_are_releases(capabilities: Capabilities) -> None:
    """Each of adcp.supported_versions is a release: major and minor, such as 3.1 or 3.2-beta.5, without a patch part.

    Write 3.1 for 3.1.2, as a string. The only place for the whole version is adcp.build_version.
    """
    block = _block(capabilities)
    if "supported_versions" not in block:
        raise NotApplicable("adcp.supported_versions is not there")
    found = block["supported_versions"]
    at = capabilities.answer.in_payload("adcp", "supported_versions")
    if not isinstance(found, list) or not found:
        raise Broken(
            "a list of releases",
            quote(found),
            at=at,
            because=f"adcp.supported_versions is {'empty' if found == [] else kind_of(found)}, where a buyer looks for releases",
        )
    wrong = [each for each in found[:_LISTED] if not _is_release(each)]
    if wrong:
        raise Broken(
            "releases such as 3.1",
            quote(wrong[0], 80),
            at=capabilities.answer.in_payload("adcp", "supported_versions", found.index(wrong[0])),
            because=f"{quote(wrong[0], 60)} among adcp.supported_versions is {_why_no_release(wrong[0])}",
            further=[f"and so is {quote(each, 60)}" for each in wrong[1:10]],
        )


@rule("adcp.versions.echo", level=Level.MUST, source=_NEGOTIATION, since="3.2", advisory_since="3.1")
def answers_name_their_release(answer: Answer) -> None:
    """Each answer names in adcp_version, at the root of its payload, the AdCP release that it is written in.

    Put "adcp_version": "3.1", the release you serve, beside `status` in every answer, errors and get_adcp_capabilities
    among them.
    """
    payload = root(answer)
    if payload.get(_VERSION) is not None:
        return
    # An error may well say that what was asked for is not spoken.
    is_error = answer.kind is Class.ERROR
    asked = None if is_error else release_of_version(sent_arguments(answer).get(_VERSION))
    # Without a pin a seller may answer in an older release, and 3.0 has no echo.
    if numbers(asked) < (3, 1) and not speaks(answer, "3.1"):
        raise NotApplicable(
            "the server also serves AdCP 3.0, whose answers do not name it, and the request named none"
        )
    if is_error and is_error_alone(answer):
        raise NotApplicable("the payload is adcp_error alone, which is accepted")
    lenient = ""
    if is_error:
        lenient = "the pages show errors without it"
    elif numbers(asked) < (3, 2) and not speaks(answer, "3.2"):
        lenient = "a SHOULD before 3.2"
    raise Broken(
        f"adcp_version, such as {quote(answer.release)}",
        "null" if _VERSION in payload else "no such member",
        at=answer.in_payload(_VERSION),
        because="the answer does not say in adcp_version which release it is written in, so a buyer cannot tell by which schema to read it",
        lenient=lenient,
    )


@rule("adcp.versions.echo-form", level=Level.MUST, source=_NEGOTIATION)
def echo_is_a_supported_release(answer: Answer) -> None:
    """adcp_version of an answer is a release, such as 3.1, and one of adcp.supported_versions.

    Echo the release, not the version of the schemas or of your software: 3.1, not 3.1.2.
    """
    payload = root(answer)
    echo = payload.get(_VERSION)
    if echo is None:
        raise NotApplicable("the answer has no adcp_version")
    if not _is_release(echo):
        raise Broken(
            "a release such as 3.1",
            quote(echo, 80),
            at=answer.in_payload(_VERSION),
            because=f"adcp_version is {quote(echo, 60)}, and that is {_why_no_release(echo)}",
        )
    supported = answer.server.supported
    if supported and release_of_version(echo.partition("-")[0]) not in supported:
        raise Broken(
            f"one of {', '.join(supported)}",
            quote(echo, 80),
            at=answer.in_payload(_VERSION),
            because=f"the answer says that it is of AdCP {quote(echo, 60)}, which supported_versions does not name",
        )


# -- what it makes of what it is asked for -----------------------------------------------------------------------


@rule("adcp.versions.major-accepted", level=Level.MUST, source=_NEGOTIATION, probes=[Probe.SUPPORTED_MAJOR])
def supported_major_is_accepted(probed: Probed) -> None:
    """A request that names adcp_major_version 3 is served like one that names none.

    Take adcp_major_version in every request (an integer), and refuse only majors that are not among major_versions.
    """
    answer = probed.answer
    if answer.kind is not Class.ERROR:
        return
    not_barred(answer)
    raise Broken(
        "a success, as without it",
        shown(answer),
        at=_place(answer),
        because=f"the same request was served without {_MAJOR} 3, and is refused with it; buyers of 3.x send it",
    )


@rule("adcp.versions.major-refused", level=Level.SHOULD, source=_NEGOTIATION)
def unsupported_major_is_refused(answer: Answer) -> None:
    """A tool whose inputSchema has adcp_major_version refuses a major version that is not served, as VERSION_UNSUPPORTED.

    Compare adcp_major_version with your major_versions before anything else, and answer VERSION_UNSUPPORTED with details
    {"supported_versions": [...]}.
    """
    if answer.call.purpose is not Purpose.BAD or answer.call.name != "unsupported-major":
        raise NotApplicable("the request asks for no other major version")
    if not _is_named(answer, _MAJOR):
        raise NotApplicable(f"the tool's inputSchema does not name {_MAJOR}")
    _refused_as_unsupported(answer, f"{_MAJOR} 99", lenient="")


@rule(
    "adcp.versions.release-refused",
    level=Level.SHOULD,
    source=_NEGOTIATION,
    since="3.1",
    probes=[Probe.UNKNOWN_RELEASE],
)
def unknown_release_is_refused(probed: Probed) -> None:
    """A request for a release of a major version that is not served is refused as VERSION_UNSUPPORTED.

    Compare the major part of adcp_version with what you serve; within a major, serve the nearest older release.
    """
    _refused_as_unsupported(probed.answer, f"{_VERSION} 99.0", lenient="")


@rule(
    "adcp.versions.conflict",
    level=Level.SHOULD,
    source=_NEGOTIATION,
    since="3.1",
    probes=[Probe.VERSION_CONFLICT],
)
def conflicting_versions_are_refused(probed: Probed) -> None:
    """A request whose adcp_version and adcp_major_version name different majors is refused as VERSION_UNSUPPORTED.

    Where both are sent, compare the major part of adcp_version with adcp_major_version.
    """
    _refused_as_unsupported(probed.answer, f"{_VERSION} 3.1 beside {_MAJOR} 2", lenient="")


@rule(
    "adcp.versions.prerelease",
    level=Level.MUST,
    source=adcp(VERSIONING, "pre-release-pins"),
    since="3.1",
    probes=[Probe.PRERELEASE],
)
def unknown_prerelease_is_refused(probed: Probed) -> None:
    """A request for a pre-release that is not served is refused as VERSION_UNSUPPORTED, never served as another release.

    Serve a pre-release only where supported_versions names exactly that one.
    """
    lenient = ""
    if not _is_named(probed.answer, _VERSION):
        lenient = f"the tool's inputSchema does not name {_VERSION}, so it may not be read"
    elif not speaks(probed.answer, "3.1"):
        lenient = "the server also serves AdCP 3.0, which has no such member"
    elif probed.answer.kind is Class.ERROR:
        lenient = "it is refused, if under another name"
    _refused_as_unsupported(probed.answer, f"{_VERSION} 3.1-beta.999", lenient=lenient)


@rule("adcp.versions.refusal-details", level=Level.SHOULD, source=adcp(ERROR_HANDLING))
def refusal_names_what_is_supported(error: Answer) -> None:
    """VERSION_UNSUPPORTED names the releases that are served, in details.supported_versions.

    Add "details": {"supported_versions": ["3.0", "3.1"], "supported_majors": [3]} to the error.
    """
    if code(error) != _UNSUPPORTED:
        raise NotApplicable(f"the error is not {_UNSUPPORTED}")
    rpc = error.message.get("error") if error.result is None else None
    found = [value for _, value in error.error_objects()]
    if any("details" in value and not isinstance(value["details"], Mapping) for value in found):
        raise NotApplicable("adcp.errors.members says that details is no object")
    holders = [value.get(name) for value in found for name in ("details", "data")]
    holders += [rpc.get("data") if isinstance(rpc, Mapping) else None]
    key = "supported_versions"
    named = [holder[key] for holder in holders if isinstance(holder, Mapping) and key in holder]
    if any(isinstance(versions, list) and versions for versions in named):
        return
    raise Broken(
        'details.supported_versions, such as ["3.1"]',
        quote(named[0]) if named else shown(error),
        at=error.adcp_error_pointer if error.adcp_error is not None else error.in_payload("errors", 0),
        because="the error says that a version is not served and not which ones are, so a buyer has to ask again before it can go on",
    )


def _refused_as_unsupported(answer: Answer, asked: str, *, lenient: str) -> None:
    """Raise where a request for a version that is not served got anything but VERSION_UNSUPPORTED."""
    if answer.kind is Class.ERROR:
        not_barred(answer)
        if code(answer) == _UNSUPPORTED:
            return
        if code(answer) not in ERROR_CODES:
            raise NotApplicable("the request is refused, and other rules speak about the code")
    elif answer.kind is Class.SUCCESS and not has_root(answer.task, answer.payload):
        raise NotApplicable("the answer has no data, so it is not known what became of the request")
    came = f"is refused with {quote(code(answer), 70)}" if answer.kind is Class.ERROR else "is served"
    raise Broken(
        f"the error {_UNSUPPORTED}",
        shown(answer) if answer.kind is Class.ERROR else quote(answer.payload),
        at=_place(answer),
        because=f"a request with {asked} {came}, so a buyer never learns that the versions do not match",
        lenient=lenient,
    )


def _place(answer: Answer) -> str:
    if answer.result is None:
        return "/error"
    return answer.adcp_error_pointer if answer.adcp_error is not None else answer.in_payload()


def _is_named(answer: Answer, member: str) -> bool:
    """Whether the inputSchema of the tool names a member of requests."""
    tool = answer.server.tool(answer.call.tool) or {}
    return member in shape(tool.get("inputSchema"), answer.task.arguments).known.types


def _block(capabilities: Capabilities) -> Mapping[str, Any]:
    block = data_root(capabilities.answer).get("adcp")
    if not isinstance(block, Mapping):
        raise NotApplicable("adcp.discovery.major-versions says that there is no `adcp`")
    return block


def _is_release(value: Any) -> bool:
    return isinstance(value, str) and _RELEASE.fullmatch(value) is not None


def _why_no_release(value: Any) -> str:
    if not isinstance(value, str):
        return f"{kind_of(value)}, not a string"
    patched = re.fullmatch(r"(\d{1,6}\.\d{1,6})\.\d.*", value[:200], re.ASCII | re.DOTALL)
    return (
        f"a whole version, where the release is {patched.group(1)}" if patched else "no release such as 3.1"
    )
