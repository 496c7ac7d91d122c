"""What a server says about itself, and which AdCP it is taken for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .arguments import shape
from .calls import PlannedCall
from .extraction import Reason, extract_error, extract_success
from .reading import Reading
from .release import BEFORE_3, PINNED, release_of, supported_by
from .subjects import Server
from .tasks import CAPABILITIES, catalogue
from .transcript import Era, Kind, Transcript

if TYPE_CHECKING:
    from .schemas import Validators

# Of AdCP 3: members of requests, and of answers.
_REQUEST_MEMBERS = ("adcp_major_version", "adcp_version", "idempotency_key")
_ANSWER_MEMBERS = ("adcp_error", "adcp_version")
_TOOLS = 200  # tools whose inputSchema is looked at


def server_of(
    transcript: Transcript,
    readings: Mapping[int, Reading],
    *,
    spec: str | None = None,
    schemas: Validators | None = None,
    production: bool = False,
) -> Server:
    """Return what a transcript tells of its server; for the keywords see Evidence."""
    initialize: Mapping[str, Any] = {}
    info: Any = None
    tools: list[Mapping[str, Any]] = []
    era: Era | None = None
    last_page: list[Any] = []
    whole = False
    for exchange in transcript.exchanges:
        result = readings[exchange.index].result
        if exchange.kind is Kind.INITIALIZE and result is not None:
            initialize, info = result, result.get("serverInfo")
        elif exchange.kind is Kind.DISCOVER and result is not None and info is None:
            meta = result.get("_meta")
            info = meta.get("io.modelcontextprotocol/serverInfo") if isinstance(meta, Mapping) else None
        elif exchange.kind is Kind.LIST:
            era = exchange.era
            listed = list_page(readings[exchange.index])
            whole = listed is not None and not (result or {}).get("nextCursor")
            page = listed or []
            # A page that comes again is a fault of paging, not two tools of one name (observed in the report).
            if page != last_page:
                tools.extend(tool for tool in page if isinstance(tool, Mapping))
            last_page = page
    answers = list(_answers(transcript, readings))
    limit = transcript.survey.limits.client_limit
    capabilities = _capabilities(answers, limit)
    release: str | None = None
    source = ""
    if spec:
        release, source = spec, PINNED
    elif capabilities is not None:
        release, source = release_of(capabilities)
    elif whole and _is_before_3(tools, answers, limit):
        release = BEFORE_3
    revision = initialize.get("protocolVersion")
    info = info if isinstance(info, Mapping) else {}
    return Server(
        name=_text(info.get("name")),
        version=_text(info.get("version")),
        revision=revision if isinstance(revision, str) else None,
        era=era,
        release=release,
        release_source=source,
        supported=supported_by(capabilities or {}),
        schemas=schemas,
        tools=tuple(tools),
        whole=whole,
        production=production,
        initialize=initialize,
        capabilities=capabilities or {},
    )


def list_page(reading: Reading) -> list[Any] | None:
    """Return the tools of one answer to tools/list; None where it gives no list."""
    tools = reading.result.get("tools") if reading.result is not None else None
    return tools if isinstance(tools, list) else None


def _answers(
    transcript: Transcript, readings: Mapping[int, Reading]
) -> Iterator[tuple[PlannedCall, Mapping[str, Any]]]:
    """Yield the calls of AdCP tasks and the JSON-RPC responses to them."""
    calls = {call.subject: call for call in transcript.survey.calls}
    for exchange in transcript.exchanges:
        call = calls.get(exchange.subject)
        response = readings[exchange.index].response
        if call is not None and call.tool in catalogue() and response is not None:
            yield call, response


def _capabilities(
    answers: list[tuple[PlannedCall, Mapping[str, Any]]], limit: int
) -> Mapping[str, Any] | None:
    for call, response in answers:
        result = response.get("result")
        if call.tool == CAPABILITIES and isinstance(result, Mapping):
            data = extract_success(result, limit=limit).data
            if data is not None:
                return data
    return None


def _is_before_3(
    tools: list[Mapping[str, Any]], answers: list[tuple[PlannedCall, Mapping[str, Any]]], limit: int
) -> bool:
    """Whether a server has AdCP tasks but not the one that AdCP 3 begins with, nor any other sign of that."""
    tasks = [tool for tool in tools if isinstance(name := tool.get("name"), str) and name in catalogue()]
    if not tasks or any(tool["name"] == CAPABILITIES for tool in tasks):
        return False
    for tool in tasks[:_TOOLS]:
        known = shape(tool.get("inputSchema"), catalogue()[tool["name"]].arguments).known
        if any(name in known.types for name in _REQUEST_MEMBERS):
            return False
    return not any(_is_of_3(response, limit) for _, response in answers)


def _is_of_3(response: Mapping[str, Any], limit: int) -> bool:
    """Whether an answer has a member that came with AdCP 3."""
    result = response.get("result")
    if not isinstance(result, Mapping):
        return extract_error(response).candidate is not None
    success = extract_success(result, limit=limit)
    places = [success.data, result.get("structuredContent")]
    named = any(name in place for place in places if isinstance(place, Mapping) for name in _ANSWER_MEMBERS)
    alone = success.reason is Reason.ADCP_ERROR_ONLY
    return named or alone or extract_error(result).candidate is not None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
