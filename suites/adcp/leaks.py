"""What an error must not give away: it is read by buyers, and by the models that work for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from urllib.parse import urlsplit

from pytest_adcp.harness import leaks
from pytest_adcp.harness.error_texts import ErrorText, error_texts, sent_strings
from pytest_adcp.harness.leaked_hosts import Home, internal_network, public_addresses
from pytest_adcp.harness.leaks import Finder, Leak
from pytest_adcp.harness.rules import Broken, Level, NotApplicable, rule
from pytest_adcp.harness.sources import SECURITY, TRANSPORT_ERRORS, adcp
from pytest_adcp.harness.subjects import Answer
from pytest_adcp.harness.text import quote
from pytest_adcp.harness.urls import display_url, is_loopback

from .roots import sent_arguments

_SELLERS = adcp(TRANSPORT_ERRORS, "seller-requirements")
_CLIENTS = adcp(TRANSPORT_ERRORS, "buyer-agent-requirements")
_HITS = 20  # leaks of one error that are looked at
_FURTHER = 3  # of them, beside the first, that a finding names
_SHORTEST_KEY = 8  # characters of an idempotency key that is looked for
_LONGEST_URL = 2048
# Members that name a machine's address, not a page that a person opens.
_FOR_MACHINES = frozenset({"agent_url", "callback_url", "endpoint_url", "webhook_url"})


@rule("adcp.security.stack-trace", level=Level.MUST, source=_SELLERS)
def no_stack_trace(error: Answer) -> None:
    """An error carries no stack trace.

    Catch the exception where the tool ends, write it into your log under an id, and answer with a code, one sentence and
    that id.
    """
    _judge(
        error,
        leaks.stack_traces,
        expected="no stack trace",
        means="it shows every buyer how your code is built, and costs their models a page of reading",
    )


@rule("adcp.security.file-path", level=Level.MUST, source=_SELLERS)
def no_file_path(error: Answer) -> None:
    """An error names no file or folder of the server.

    Say in your own words what failed instead of passing on str(exception) or err.message.
    """

    def find(text: str) -> Iterator[Leak]:
        # The paths of a stack trace are that rule's.
        return iter(()) if any(leaks.stack_traces(text)) else leaks.file_paths(text)

    _judge(error, find, expected="no file path", means="it tells strangers how your server is laid out")


@rule("adcp.security.database-text", level=Level.MUST, source=_SELLERS)
def no_database_text(error: Answer) -> None:
    """An error carries no SQL and no text of a database.

    Map the exceptions of your database to AdCP codes (CONFLICT, SERVICE_UNAVAILABLE ...) with a sentence of your own.
    """
    _judge(
        error,
        leaks.database_texts,
        expected="no SQL, no text of a database",
        means="it tells strangers which database you run and what it holds",
    )


@rule("adcp.security.internal-network", level=Level.MUST, source=_SELLERS)
def no_internal_network(error: Answer) -> None:
    """An error names no internal host or address, and passes on no failed connection of the server's own.

    Answer SERVICE_UNAVAILABLE with a sentence of your own when a system behind you cannot be reached.
    """
    home = Home.of(error.exchange.request.url)
    _judge(
        error,
        lambda text: internal_network(text, home),
        expected="no internal host or address",
        means="it tells strangers what stands behind your server",
    )


@rule("adcp.security.public-address", level=Level.SHOULD, source=_SELLERS)
def no_public_address(error: Answer) -> None:
    """An error names no IP address of the server or of a system behind it.

    Leave the address out. The page forbids addresses of internal systems; whose a public one is cannot be seen from outside.
    """
    home = Home.of(error.exchange.request.url)
    _judge(
        error,
        lambda text: public_addresses(text, home),
        expected="no IP address",
        means="if it is that of a system behind your server, buyers should not learn it",
    )


@rule("adcp.security.credentials", level=Level.MUST, source=_SELLERS)
def no_credentials(error: Answer) -> None:
    """An error carries no password, token or key.

    Replace the secret now: it has been seen. Then keep exceptions of drivers and HTTP clients out of error texts.
    """

    def find(text: ErrorText) -> Iterator[Leak]:
        yield from leaks.credentials(text.text)
        yield from leaks.credential_member(text.name, text.text)

    _report(
        ((text, leak, leaks.masked(leak.text)) for text, leak in _found(error, find)),
        expected="no password, token or key",
        means="everybody who reads the error, its logs or a model's transcript has it",
    )


@rule("adcp.security.validation-dump", level=Level.SHOULD, source=_SELLERS)
def no_validation_dump(error: Answer) -> None:
    """An error says what is wrong with a request in AdCP's terms, not in those of a validation library.

    Turn the library's list into issues[] (pointer, message, keyword), and say in message what to change.
    """
    if error.adcp_error is None and not error.errors:
        raise NotApplicable("adcp.errors.structured speaks about errors that a framework sends by itself")
    _judge(
        error,
        leaks.validation_dumps,
        expected="a sentence, and issues[]",
        means="it is written for the programmer of the server, and shows names of its classes and functions",
    )


@rule("adcp.security.idempotency-key", level=Level.SHOULD, source=adcp(SECURITY, "idempotency"))
def no_idempotency_key(error: Answer) -> None:
    """An error does not repeat the buyer's idempotency key.

    Leave the key out; the buyer knows it. The page forbids it for texts that come from a system behind the seller, which
    cannot be told apart from outside.
    """
    key = sent_arguments(error).get("idempotency_key")
    if not isinstance(key, str) or len(key) < _SHORTEST_KEY:
        raise NotApplicable("the request carried no idempotency_key")
    for text in _texts(error):
        if key in text.text:
            raise Broken(
                "no idempotency key in a text",
                quote(text.text, 120),
                at=text.at,
                because="the error repeats the idempotency key of the request; whoever finds it in a log can ask for the "
                "answer that belongs to it",
            )


@rule("adcp.security.urls", level=Level.MUST, source=_CLIENTS)
def urls_can_be_opened(error: Answer) -> None:
    """Links in details (setup_url, policy_url and the like) are https, without user or password.

    Send an absolute https:// URL of your own domain without user:password@. Clients refuse to open any other.
    """
    links = list(_links(error))
    if not links:
        raise NotApplicable("no details carry a link")
    for at, name, url in links:
        try:
            parts = urlsplit(url)
            host = parts.hostname or ""
        except ValueError:
            raise _bad_link(at, name, url, "is no URL") from None
        if "@" in parts.netloc:
            raise _bad_link(at, name, url, "has a user or password in it")
        if not host or parts.scheme not in ("http", "https"):
            raise _bad_link(at, name, url, "is no web address" if parts.scheme else "is no absolute URL")
        if parts.scheme == "http":
            here = is_loopback(host) and is_loopback(Home.of(error.exchange.request.url).host)
            raise _bad_link(
                at, name, url, "is not https", "server and link are on this machine" if here else ""
            )


def _links(error: Answer) -> Iterator[tuple[str, str, str]]:
    """Yield where a link for people stands, its name, and the URL."""
    for at, found in error.error_objects():
        details = found.get("details")
        for name, url in details.items() if isinstance(details, Mapping) else ():
            if name.lower().endswith("_url") and name not in _FOR_MACHINES and isinstance(url, str):
                yield f"{at}/details/{name}", name, url[:_LONGEST_URL]


def _bad_link(at: str, name: str, url: str, what: str, lenient: str = "") -> Broken:
    return Broken(
        "an https URL without user and password",
        display_url(url),
        at=at,
        because=f"{quote(name, 40)} {what}; clients must refuse to open it, so nobody gets where the error sends them",
        lenient=lenient,
    )


def _judge(error: Answer, find: Finder, *, expected: str, means: str) -> None:
    """Raise Broken where a text of the error gives something away that the client did not send itself."""
    found = _found(error, lambda text: find(text.text))
    _report(
        ((text, leak, quote(leaks.excerpt(text.text, leak), 160)) for text, leak in found),
        expected=expected,
        means=means,
    )


def _texts(error: Answer) -> list[ErrorText]:
    texts = list(error_texts(error))
    if not texts:
        raise NotApplicable("the error holds no text")
    return texts


def _found(error: Answer, find: Callable[[ErrorText], Iterator[Leak]]) -> Iterator[tuple[ErrorText, Leak]]:
    """Yield what a finder finds in the texts of an error and the client has not sent itself."""
    sent = sent_strings(error)
    texts = _texts(error)
    found = ((text, leak) for text in texts for leak in find(text))
    return islice(((text, leak) for text, leak in found if not any(leak.text in own for own in sent)), _HITS)


def _report(found: Iterator[tuple[ErrorText, Leak, str]], *, expected: str, means: str) -> None:
    """Raise Broken for what was found; what a mirror or the same text has once more is told once."""
    different: dict[str, tuple[ErrorText, Leak]] = {}
    places: set[tuple[str, str]] = set()
    for text, leak, shown in found:
        if (leak.what, text.at) not in places:
            different.setdefault(shown, (text, leak))
            places.add((leak.what, text.at))
    if not different:
        return
    (shown, (text, leak)), *rest = different.items()
    raise Broken(
        expected,
        f"{leak.what}: {shown}",
        at=text.at,
        because=f"the error gives away {leak.what}; {means}",
        further=[f"{other.what}: {also}, at {place.at}" for also, (place, other) in rest[:_FURTHER]],
    )
