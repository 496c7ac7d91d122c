"""What a seller says that it is: get_adcp_capabilities, and the tools that have to be there for it to be true."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import islice
from typing import Any

from pytest_adcp.harness.calls import Probe
from pytest_adcp.harness.classify import Class
from pytest_adcp.harness.declared import expected_of_protocol, missing_of_specialism
from pytest_adcp.harness.release import BEFORE_3, numbers
from pytest_adcp.harness.rules import Blocked, Broken, Level, NotApplicable, rule
from pytest_adcp.harness.sources import CAPABILITIES_PAGE, REQUIRED_TASKS, SECURITY, TEST_CONTROLLER, adcp
from pytest_adcp.harness.subjects import HOW_TO_SAY_PRODUCTION, Capabilities, Probed, Tools
from pytest_adcp.harness.tasks import CAPABILITIES, catalogue, look_alike
from pytest_adcp.harness.text import quote

from .barred import not_barred, shown
from .failures import kind_of
from .refusals import ARGUMENT_CODES, code, named, words
from .roots import data_root

_CAPABILITIES = adcp(CAPABILITIES_PAGE)
_GATING = adcp(TEST_CONTROLLER, "sandbox-gating")
_SHORTEST_TTL, _LONGEST_TTL = 3600, 604_800  # seconds
_CONTROLLER_TOOL = "comply_test_controller"
_LISTED = 1000  # tools, and declarations of one kind, that are looked at
_TOLD = 10  # of what is wrong, in one finding
_NOT_PRODUCTION = (
    f"only a production server must not have it, and nothing says that this is one: {HOW_TO_SAY_PRODUCTION}"
)


@rule("adcp.discovery.capabilities-listed", level=Level.SHOULD, source=adcp(REQUIRED_TASKS, "shared"))
def capabilities_tool_is_listed(tools: Tools) -> None:
    """An agent of AdCP 3 lists get_adcp_capabilities.

    Add the tool get_adcp_capabilities, which needs no arguments: it says which releases and protocols you serve.
    """
    names = _names(tools)
    if not any(name in catalogue() for name in names):
        raise NotApplicable("no AdCP task is listed")
    if CAPABILITIES in names:
        return
    _has_ended(tools.server.whole)
    what = "so this counts as a server of AdCP 2.x, of which hardly anything is judged here"
    if tools.server.release != BEFORE_3:
        what = "so they ask for nothing that is new in AdCP 3, though this server serves it"
    raise Broken(
        f"{CAPABILITIES} in tools/list",
        quote(names[:12]),
        at="/result/tools",
        because=f"{CAPABILITIES} is not listed: buyers take such a server for one of AdCP 2.x, {what}",
    )


@rule("adcp.discovery.major-versions", level=Level.MUST, source=_CAPABILITIES)
def major_versions_are_declared(capabilities: Capabilities) -> None:
    """get_adcp_capabilities gives adcp.major_versions: the major versions that are served, as whole numbers.

    Send "adcp": {"major_versions": [3], ...}. It stays required through 3.x, also beside supported_versions.
    """
    adcp_block = data_root(capabilities.answer).get("adcp")
    if not isinstance(adcp_block, Mapping):
        raise Broken(
            "an object with major_versions and idempotency",
            _came(capabilities.payload, "adcp"),
            at=capabilities.answer.in_payload("adcp"),
            because="there is no object `adcp`, so buyers cannot tell which AdCP this is",
        )
    majors = adcp_block.get("major_versions")
    if isinstance(majors, list) and majors and all(_is_whole(major) and major >= 1 for major in majors):
        return
    because = f"adcp.major_versions is {quote(majors, 60)}, not a list of whole numbers such as [3]"
    if "major_versions" not in adcp_block:
        because = "adcp.major_versions is missing: buyers of AdCP 3.0 look for 3 there before anything else"
    raise Broken(
        "a list such as [3]",
        _came(adcp_block, "major_versions"),
        at=capabilities.answer.in_payload("adcp", "major_versions"),
        because=because,
    )


@rule("adcp.discovery.idempotency", level=Level.MUST, source=_CAPABILITIES)
def idempotency_is_declared(capabilities: Capabilities) -> None:
    """get_adcp_capabilities says in adcp.idempotency whether a repeated idempotency_key repeats nothing, and for how long.

    Send {"supported": true, "replay_ttl_seconds": 86400}, with 3600 to 604800 seconds, or {"supported": false} alone.
    """
    adcp_block = data_root(capabilities.answer).get("adcp")
    if not isinstance(adcp_block, Mapping):
        raise NotApplicable("adcp.discovery.major-versions says that there is no `adcp`")
    found = adcp_block.get("idempotency")
    if because := _why_no_idempotency(found):
        raise Broken(
            'supported true with "replay_ttl_seconds" of 3600 to 604800, or supported false alone',
            _came(adcp_block, "idempotency"),
            at=capabilities.answer.in_payload("adcp", "idempotency"),
            because=because,
        )


def _why_no_idempotency(found: Any) -> str:
    if found is None:
        return "adcp.idempotency is missing, so buyers must take every retry for a possible second purchase"
    if not isinstance(found, Mapping):
        return f"adcp.idempotency is {kind_of(found)}, not an object"
    supported, seconds = found.get("supported"), found.get("replay_ttl_seconds")
    if not isinstance(supported, bool):
        came = f"is {quote(supported, 40)}" if "supported" in found else "is missing"
        return (
            f"adcp.idempotency.supported {came}, and only true or false tells buyers whether a retry is safe"
        )
    if not supported:
        has = "replay_ttl_seconds" in found
        return "adcp.idempotency is not supported, and yet has replay_ttl_seconds" if has else ""
    if "replay_ttl_seconds" not in found:
        return "adcp.idempotency does not say in replay_ttl_seconds for how long a retry is safe"
    if not isinstance(seconds, int | float) or not _is_whole(seconds):
        return f"replay_ttl_seconds is {quote(seconds, 40)}, not a whole number of seconds"
    if not _SHORTEST_TTL <= seconds <= _LONGEST_TTL:
        return f"replay_ttl_seconds is {quote(seconds, 40)}, outside of an hour to seven days ({_SHORTEST_TTL} to {_LONGEST_TTL})"
    return ""


@rule("adcp.discovery.protocols", level=Level.MUST, source=_CAPABILITIES)
def protocols_are_declared(capabilities: Capabilities) -> None:
    """get_adcp_capabilities names the protocols that are served in supported_protocols.

    Send "supported_protocols": ["media_buy"], with the protocols whose tasks you have, in snake case.
    """
    payload = data_root(capabilities.answer)
    found = payload.get("supported_protocols")
    if isinstance(found, list) and found and all(isinstance(name, str) for name in found):
        return
    because = f"supported_protocols is {quote(found, 60)}, not a list of names"
    if "supported_protocols" not in payload:
        because = "supported_protocols is missing, so buyers do not know what to ask this server for"
    elif found == []:
        because = "supported_protocols is empty: by that this server does nothing, and buyers go away"
    raise Broken(
        'a list of names such as ["media_buy"]',
        _came(payload, "supported_protocols"),
        at=capabilities.answer.in_payload("supported_protocols"),
        because=because,
    )


@rule(
    "adcp.discovery.no-arguments",
    level=Level.MUST,
    source=adcp(SECURITY, "idempotency"),
    probes=[Probe.NO_ARGUMENTS],
)
def capabilities_need_no_arguments(probed: Probed) -> None:
    """get_adcp_capabilities answers a request without any argument: it is how a buyer that knows nothing yet begins.

    Make every argument of it optional, idempotency_key too.
    """
    answer = probed.answer
    if answer.kind is not Class.ERROR:
        return
    not_barred(answer)
    if any(earlier.kind is Class.ERROR for earlier in probed.before):
        if "result" in answer.message and "error" in answer.message:
            raise Blocked(f"{CAPABILITIES} is answered with a result and an error, which says neither")
        raise Blocked(f"{CAPABILITIES} is refused with arguments too")
    is_about_the_key = code(answer) in ARGUMENT_CODES and named(["idempotency_key"], words(answer))
    is_older = numbers(probed.release) < (3, 2)
    raise Broken(
        "a success",
        shown(answer),
        at=answer.adcp_error_pointer if answer.adcp_error is not None else answer.at(),
        because=f"{CAPABILITIES} refuses a request without arguments, and a buyer has nothing to put in before it knows the seller",
        lenient="the storyboards of 3.0 and 3.1 let a seller ask for idempotency_key"
        if is_about_the_key and is_older
        else "",
    )


@rule("adcp.discovery.protocol-tools", level=Level.MUST, source=adcp(REQUIRED_TASKS))
def protocols_have_tools(capabilities: Capabilities) -> None:
    """Each protocol in supported_protocols has tools of its own in tools/list.

    List the protocol's tools, or take it out of supported_protocols. If they are only listed with credentials, give the
    harness some.
    """
    _has_ended(capabilities.server.whole)
    declared = _declared(data_root(capabilities.answer), "supported_protocols")
    bare = {
        name: tool
        for name in declared
        if (tool := expected_of_protocol(name, capabilities.tools, capabilities.release))
    }
    if bare:
        words = [
            f"supported_protocols names {name}, and no tool of it is listed, such as {tool}"
            for name, tool in bare.items()
        ]
        raise _bare(capabilities, "supported_protocols", next(iter(bare.values())), words)


@rule("adcp.discovery.specialism-tools", level=Level.MUST, source=adcp(REQUIRED_TASKS))
def specialisms_have_tools(capabilities: Capabilities) -> None:
    """Each of `specialisms` has the tools that it begins with in tools/list.

    List the tools, or take the specialism out. If they are only listed with credentials, give the harness some.
    """
    _has_ended(capabilities.server.whole)
    payload = data_root(capabilities.answer)
    declared = _declared(payload, "specialisms")
    if not declared:
        raise NotApplicable("no specialism is declared")
    bare = {name: tools for name in declared if (tools := missing_of_specialism(name, capabilities.tools))}
    if bare:
        words = [
            f"specialisms names {name}, and tools/list lacks {' and '.join(tools)}"
            for name, tools in bare.items()
        ]
        raise _bare(capabilities, "specialisms", next(iter(bare.values()))[0], words)


def _bare(capabilities: Capabilities, member: str, tool: str, words: list[str]) -> Broken:
    """Say of declarations in a member, a sentence each, that tools are missing, of which one is named."""
    return Broken(
        f"{tool} in tools/list",
        quote(sorted(capabilities.tools & catalogue().keys())),
        at=capabilities.answer.in_payload(member),
        because=words[0],
        further=words[1:_TOLD],
    )


@rule("adcp.discovery.tool-names", level=Level.MUST, source=adcp(REQUIRED_TASKS))
def tools_have_the_names_of_their_tasks(tools: Tools) -> None:
    """A tool that is an AdCP task has exactly the name of the task.

    Call it as the task is called: get_products, without a prefix and in snake case. Buyers look for no other name.
    """
    names = _names(tools)
    if not any(name in catalogue() for name in names):
        raise NotApplicable("no AdCP task is listed, and the run says so")
    _has_ended(tools.server.whole)
    alike = [(name, task) for name in names if (task := look_alike(name)) and task not in names]
    # What says adcp itself is meant to be one; else it may be another tool of the seller's.
    alike.sort(key=lambda pair: not _says_adcp(pair[0]))
    if not alike:
        return
    name, task = alike[0]
    raise Broken(
        task,
        quote(name, 60),
        at="/result/tools",
        because=f"the tool {quote(name, 60)} looks like the task {task}, which is not listed; buyers call tasks by their exact names",
        fix=f"call the tool {task}, if that is what it is",
        lenient="" if _says_adcp(name) else "it may be a tool outside AdCP",
        further=[f"so does {quote(name, 60)} like {task}" for name, task in alike[1:_TOLD]],
    )


@rule("adcp.discovery.test-controller", level=Level.MUST, source=_GATING)
def production_has_no_test_controller(tools: Tools) -> None:
    """A production server does not list comply_test_controller, which changes the state of accounts for tests.

    Register the tool only where the seller runs as a sandbox.
    """
    if not tools.server.production:
        raise NotApplicable(_NOT_PRODUCTION)
    if _CONTROLLER_TOOL in _names(tools):
        raise Broken(
            "no such tool",
            _CONTROLLER_TOOL,
            at="/result/tools",
            because=f"{_CONTROLLER_TOOL} is listed on a production server, where it must not be, gated or not",
        )


@rule("adcp.discovery.compliance-testing", level=Level.MUST, source=_GATING)
def production_declares_no_compliance_testing(capabilities: Capabilities) -> None:
    """A production server has no compliance_testing among its capabilities.

    Leave the block out where the seller does not run as a sandbox.
    """
    if not capabilities.server.production:
        raise NotApplicable(_NOT_PRODUCTION)
    payload = data_root(capabilities.answer)
    if payload.get("compliance_testing") is not None:
        raise Broken(
            "no compliance_testing",
            quote(payload["compliance_testing"]),
            at=capabilities.answer.in_payload("compliance_testing"),
            because="a production server declares compliance_testing, so graders will try to run tests on it",
        )


def _names(tools: Tools) -> list[str]:
    names = (tool.get("name") for tool in islice(tools.listed, _LISTED))
    return [name for name in names if isinstance(name, str)]


def _declared(payload: Mapping[str, Any], member: str) -> list[str]:
    found = payload.get(member)
    names: Collection[Any] = found[:_LISTED] if isinstance(found, list) else ()
    return list(dict.fromkeys(name for name in names if isinstance(name, str)))


def _has_ended(whole: bool) -> None:
    if not whole:
        raise NotApplicable("tools/list did not come to an end, so what is missing there is not known")


def _says_adcp(name: str) -> bool:
    return "adcp" in name.lower()


def _is_whole(value: Any) -> bool:
    """Whether a JSON value is an integer to JSON Schema."""
    return (isinstance(value, int) and not isinstance(value, bool)) or (
        isinstance(value, float) and value.is_integer()
    )


def _came(payload: Mapping[str, Any], member: str) -> str:
    return quote(payload[member]) if member in payload else "no such member"
