"""What rules are tried on: typed views of what came over the wire. evidence.py makes them from a transcript."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from . import jsontext
from .calls import Credentials, HttpProbe, PlannedCall
from .classify import Class
from .extraction import ErrorExtraction, Extraction, Path, TextItem
from .jsontext import Parsed
from .output_schemas import OutputSchemas
from .reading import Document
from .standards import Standards, packaged
from .tasks import Task
from .text import quote
from .transcript import Era, Exchange, Request

if TYPE_CHECKING:
    from .schemas import Validators

HOW_TO_SAY_PRODUCTION = "say `production: true` in adcp.yaml, or pass --adcp-production"


@dataclass(frozen=True, slots=True)
class Gap:
    """A place where a subject should have been: blocked, or nothing that applies."""

    label: str
    why: str
    blocked: bool
    exchange: Exchange | None = None


@dataclass(frozen=True)
class Subject:
    """What every subject has: a name, the exchange it came from, and where it stands in the specifications."""

    label: str
    exchange: Exchange | None
    server: Server
    revision: str | None  # the MCP revision that it was spoken in
    root: ClassVar[str] = ""  # JSON pointer of what the rule judges, in the JSON-RPC message

    @property
    def opening(self) -> Request | None:
        """The request that opened the session, where it had other credentials; None: any of the same caller does."""
        return None

    @property
    def preceding(self) -> Request | None:
        """What has to be sent in a session before the request, to see the same; None: nothing."""
        return None

    @property
    def release(self) -> str | None:
        """The AdCP release it is judged against."""
        return self.server.release


@dataclass(frozen=True)
class Reply(Subject):
    """What came back to one JSON-RPC message of ours."""

    exchange: Exchange
    sent: Mapping[str, Any]
    documents: tuple[Document, ...]
    document: Document | None  # the one that holds the response
    response: Mapping[str, Any] | None

    @property
    def method(self) -> str:
        """The JSON-RPC method that was sent."""
        return str(self.sent.get("method", ""))

    @property
    def status(self) -> int:
        """The HTTP status; 0 where nothing came."""
        return self.exchange.response.status if self.exchange.response else 0


@dataclass(frozen=True)
class Message(Subject):
    """A JSON-RPC response and the request that it answers."""

    exchange: Exchange
    reply: Reply
    value: Mapping[str, Any]

    def show(self, member: str) -> str:
        """Quote a member of the message, or say that it is absent."""
        return quote(self.value[member]) if member in self.value else "no such member"


@dataclass(frozen=True)
class Handshake(Subject):
    """A result of initialize or server/discover."""

    exchange: Exchange
    result: Mapping[str, Any]


@dataclass(frozen=True)
class Tools(Subject):
    """All that tools/list gave, over all its pages."""

    listed: tuple[Mapping[str, Any], ...]
    pages: tuple[Page, ...] = ()
    again: tuple[Page, ...] = ()  # the same pages as they came at the end of the survey; empty: nobody asked
    refused: Message | None = None  # what came instead of a page whose cursor the server gave


@dataclass(frozen=True)
class Page(Subject):
    """One answer to tools/list; `listed` holds what stands in its tools, whether they are objects or not."""

    exchange: Exchange
    result: Mapping[str, Any]
    listed: tuple[Any, ...]
    root: ClassVar[str] = "/result"

    def at(self, *tokens: str | int) -> str:
        """Return the JSON pointer of a place in the result."""
        return self.root + jsontext.pointer(*tokens)


@dataclass(frozen=True)
class Result(Subject):
    """The result of a tools/call; `value` is the MCP tool result as it came."""

    exchange: Exchange
    value: Mapping[str, Any]
    root: ClassVar[str] = "/result"

    def show(self, member: str) -> str:
        """Quote a member of the result, or say that it is absent."""
        return quote(self.value[member]) if member in self.value else "no such member"

    def at(self, *tokens: str | int) -> str:
        """Return the JSON pointer of a place in the result."""
        return self.root + jsontext.pointer(*tokens)

    @cached_property
    def tool(self) -> str:
        """The name of the tool that was called."""
        message = jsontext.parse(self.exchange.request.body).value
        params = message.get("params") if isinstance(message, Mapping) else None
        name = params.get("name") if isinstance(params, Mapping) else None
        return name if isinstance(name, str) else ""


@dataclass(frozen=True)
class Text:
    """A text item of a tool result: its place in `content`, and what JSON.parse makes of it."""

    index: int
    text: str
    parsed: Parsed


@dataclass(frozen=True)
class Answer(Subject):
    """What an AdCP task gave: a tool result or a JSON-RPC error, read the way a client reads it."""

    exchange: Exchange
    call: PlannedCall
    task: Task
    message: Mapping[str, Any]
    result: Mapping[str, Any] | None  # None: a JSON-RPC error
    extraction: Extraction
    failure: ErrorExtraction
    kind: Class
    document: Document
    client_limit: int

    @cached_property
    def sent(self) -> Mapping[str, Any]:
        """The arguments of the request as they went over the wire; empty where they were no object."""
        message = jsontext.parse(self.exchange.request.body).value
        params = message.get("params") if isinstance(message, Mapping) else None
        arguments = params.get("arguments") if isinstance(params, Mapping) else None
        return arguments if isinstance(arguments, Mapping) else {}

    @property
    def is_flagged(self) -> bool:
        """Whether a client sees isError as set."""
        return self.result is not None and jsontext.truthy(self.result.get("isError"))

    @property
    def structured(self) -> Any:
        """The structuredContent as it came; None where there is none."""
        return (self.result or {}).get("structuredContent")

    @cached_property
    def texts(self) -> tuple[Text, ...]:
        """The text items that have a text a client would read, whether one needs it or not."""
        content = (self.result or {}).get("content")
        items = enumerate(content if isinstance(content, list) else ())
        texts = ((index, item.get("text")) for index, item in items if _is_text(item))
        read = {item.index: item.parsed for item in (*self.extraction.texts, *self.failure.texts)}
        return tuple(
            Text(index, text, read.get(index) or jsontext.parse(text))
            for index, text in texts
            if isinstance(text, str) and text and len(text) <= self.client_limit
        )

    @property
    def data_text(self) -> TextItem | None:
        """The text item that carries the AdCP payload; None where structuredContent does, or nothing."""
        if self.extraction.path is not Path.TEXT_FALLBACK:
            return None
        return self.extraction.texts[-1]

    @property
    def payload(self) -> Mapping[str, Any]:
        """The AdCP payload: what success extraction gives, else structuredContent or the JSON text of an error."""
        return self._payload[1]

    @property
    def adcp_error(self) -> Any:
        """What stands under adcp_error, wherever a client might look for it; None where there is none."""
        found = self.failure.candidate
        return found if found is not None else self.payload.get("adcp_error")

    @property
    def adcp_error_pointer(self) -> str:
        """Where that stands, in the message."""
        if self.failure.candidate is not None:
            return self.failure.pointer if self.result is None else f"/result{self.failure.pointer}"
        return self.in_payload("adcp_error")

    @property
    def errors(self) -> list[Any]:
        """The payload's errors[]; empty where there is none."""
        errors = self.payload.get("errors")
        return errors if isinstance(errors, list) else []

    def error_objects(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield every AdCP error object of the answer and where it stands: adcp_error first, then errors[]."""
        if isinstance(self.adcp_error, Mapping):
            yield self.adcp_error_pointer, self.adcp_error
        for index, error in enumerate(self.errors):
            if isinstance(error, Mapping):
                yield self.in_payload("errors", index), error

    def at(self, *tokens: str | int) -> str:
        """Return the JSON pointer of a place in the tool result."""
        return "/result" + jsontext.pointer(*tokens)

    def in_payload(self, *tokens: str | int) -> str:
        """Return the JSON pointer of a place in the payload; of the text itself, where the payload is a JSON text."""
        place = self._payload[0]
        return f"/result{place}" if place.endswith("/text") else f"/result{place}{jsontext.pointer(*tokens)}"

    @cached_property
    def _payload(self) -> tuple[str, Mapping[str, Any]]:
        if self.extraction.data is not None:
            return self.extraction.pointer, self.extraction.data
        if isinstance(self.structured, Mapping):
            return "/structuredContent", self.structured
        for text in self.texts:
            if isinstance(text.parsed.value, Mapping):
                return f"/content/{text.index}/text", text.parsed.value
        return "", {}


def _is_text(item: Any) -> bool:
    return isinstance(item, Mapping) and item.get("type") == "text"


@dataclass(frozen=True)
class Expectation(Subject):
    """A configured call that says what it must give, and what it gave."""

    exchange: Exchange
    call: PlannedCall
    answer: Answer


@dataclass(frozen=True)
class Probed(Subject):
    """A call that tries one behaviour, and what it gave.

    `before` holds the answers that it is compared with, in the order in which they were asked for: the call that it varies, or
    the pages before it; empty where it stands alone.
    """

    exchange: Exchange
    call: PlannedCall
    answer: Answer
    before: tuple[Answer, ...]


@dataclass(frozen=True)
class HttpProbed(Subject):
    """A request that tries one behaviour of the transport or the lifecycle, and what came back to it.

    `normal` is what it is compared with: the same request in its plain form (ping, server/discover), the initialize
    of the run, or the DELETE of the session; None where that is not to be had. `versions` are those that the server
    named in any other answer.
    """

    exchange: Exchange
    probe: HttpProbe
    reply: Reply
    normal: Reply | None
    versions: frozenset[str] = frozenset()

    @property
    def preceding(self) -> Request | None:
        """The DELETE that ended the session."""
        ended = self.normal if self.probe is HttpProbe.SESSION_ENDED else None
        return ended.exchange.request if ended else None


@dataclass(frozen=True)
class Capabilities(Subject):
    """A success of get_adcp_capabilities, beside what tools/list names."""

    exchange: Exchange
    answer: Answer
    payload: Mapping[str, Any]
    tools: frozenset[str]


@dataclass(frozen=True)
class Refusal(Subject):
    """What came back to a call of a protected task with credentials that are none; `credentials` says which."""

    exchange: Exchange
    credentials: Credentials
    tool: str
    reply: Reply
    session: Exchange | None = None  # what opened the session, as a caller that is known

    @property
    def opening(self) -> Request | None:
        """What opened the session."""
        return self.session.request if self.session else None


@dataclass(frozen=True)
class Challenge(Subject):
    """An HTTP 401 and the challenges in it; each URL that they give as resource_metadata, and what was found there.

    None in place of an exchange: nobody asked there, since it is not the target's origin.
    """

    exchange: Exchange
    values: tuple[str, ...]
    documents: tuple[tuple[str, Exchange | None], ...] = ()
    session: Exchange | None = None  # as in Refusal

    @property
    def opening(self) -> Request | None:
        """What opened the session."""
        return self.session.request if self.session else None


@dataclass(frozen=True)
class Metadata(Subject):
    """A document of OAuth discovery that the server serves: its own, or that of its authorization server."""

    exchange: Exchange
    value: Mapping[str, Any]
    endpoint: str = ""  # the URL of the MCP endpoint that it is about
    issuer: str | None = None  # of an authorization server's: by which the server's own lists it


@dataclass(frozen=True)
class ListedTool:
    """A tool as a platform takes it in, and where it stands."""

    name: str
    value: Mapping[str, Any]
    page: Page
    index: int  # on its page

    def at(self, *tokens: str | int) -> str:
        """Return the JSON pointer of a place in the definition, in the message that holds its page."""
        return self.page.at("tools", self.index, *tokens)

    @property
    def description(self) -> str:
        """The description; empty where it has none that is a string."""
        text = self.value.get("description")
        return text if isinstance(text, str) else ""

    @property
    def annotations(self) -> Mapping[str, Any]:
        """The annotations; empty where it has none."""
        found = self.value.get("annotations")
        return found if isinstance(found, Mapping) else {}


@dataclass(frozen=True)
class App(Subject):
    """What a platform takes in of a server: its instructions, and all tools that have a name, page after page."""

    exchange: Exchange
    instructions: str  # empty where the server gives none
    tools: tuple[ListedTool, ...]
    whole: bool  # tools/list ended: these are all

    @property
    def standards(self) -> Standards:
        """The limits and word lists to judge by."""
        return self.server.standards


@dataclass(frozen=True)
class Server:
    """What the server says about itself."""

    name: str = ""
    version: str = ""
    revision: str | None = None  # of the handshake era
    era: Era | None = None  # the one that calls ran in
    release: str | None = None  # AdCP release that it serves; None: its capabilities are not known; BEFORE_3
    release_source: str = ""
    supported: tuple[str, ...] = ()  # AdCP releases that it lists, the newest first
    schemas: Validators | None = None  # what its payloads are judged by; None: none are at hand
    tools: tuple[Mapping[str, Any], ...] = ()
    whole: bool = False  # tools/list ended: these are all of them
    production: bool = False  # the user says that it is a production server
    initialize: Mapping[str, Any] = field(default_factory=dict)
    capabilities: Mapping[str, Any] = field(default_factory=dict)  # the payload of get_adcp_capabilities
    standards: Standards = field(
        default_factory=packaged
    )  # limits and word lists of the connected-apps profile

    @cached_property
    def output_schemas(self) -> OutputSchemas:
        """What judges results by the outputSchema of their tool."""
        return OutputSchemas()

    def tool(self, name: str) -> Mapping[str, Any] | None:
        """Return a listed tool by name."""
        return next((tool for tool in self.tools if tool.get("name") == name), None)


Entry = Subject | Gap
