"""Streams of changes in MCP 2026-07-28: subscriptions/listen. Tried where server/discover declares listChanged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_adcp.harness.jsontext import equal
from pytest_adcp.harness.rules import Broken, Level, NotApplicable, rule
from pytest_adcp.harness.session import STATELESS_REVISION
from pytest_adcp.harness.sources import mcp
from pytest_adcp.harness.streams import Said, Subscription
from pytest_adcp.harness.text import quote

from .http_replies import came

ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
_ID = "io.modelcontextprotocol/subscriptionId"
_CANCELLED = "notifications/cancelled"  # how a server may end the subscription
_TYPES = {
    "toolsListChanged": "notifications/tools/list_changed",
    "promptsListChanged": "notifications/prompts/list_changed",
    "resourcesListChanged": "notifications/resources/list_changed",
}


def _page(anchor: str) -> str:
    return mcp("basic/patterns/subscriptions", anchor, revision=STATELESS_REVISION)


@rule("mcp.sse.subscription-served", level=Level.SHOULD, source=_page("opening-a-stream"))
def what_is_declared_can_be_listened_to(subscription: Subscription) -> None:
    """Servers that declare listChanged serve subscriptions/listen.

    Take listChanged out of the capabilities in server/discover, or answer subscriptions/listen with an event stream: it is
    the one way in which a client of 2026-07-28 hears of changes.
    """
    if subscription.refused:
        raise Broken(
            "an event stream, or no listChanged in server/discover",
            came(subscription.reply),
            because=f"server/discover declares {_names(subscription.asked)}, and subscriptions/listen is refused; clients "
            "that rely on it never learn of a change",
        )


@rule("mcp.sse.subscription-acknowledged", level=Level.MUST, source=_page("acknowledgment"))
def the_acknowledgement_comes_first(subscription: Subscription) -> None:
    """The first message on the stream of subscriptions/listen is notifications/subscriptions/acknowledged.

    Send it before anything else, with params.notifications saying which of the changes that were asked for will be told,
    and with the id of the request in params._meta.
    """
    messages = _messages(subscription)
    if subscription.stream is None:
        raise Broken(
            f"an event stream that begins with {ACKNOWLEDGED}",
            came(subscription.reply),
            because="subscriptions/listen is answered at once instead of with a stream, so nothing will ever be told",
        )
    if not messages:
        raise Broken(
            ACKNOWLEDGED,
            f"no message within {subscription.exchange.seconds:.0f} s",
            because="the stream of subscriptions/listen opens and says nothing; a client cannot know whether it is subscribed",
            lenient="it may come later",
        )
    first = messages[0]
    params = first.value.get("params")
    if first.value.get("method") != ACKNOWLEDGED:
        raise Broken(
            ACKNOWLEDGED,
            _show(first),
            because="something else than the acknowledgement comes first on the stream of subscriptions/listen; clients wait "
            "for it, and may drop what comes before",
        )
    if not isinstance(params, Mapping) or not isinstance(params.get("notifications"), Mapping):
        raise Broken(
            "params.notifications, an object",
            _show(first),
            at="/params/notifications",
            because="the acknowledgement does not say what is subscribed to; typed clients refuse it",
        )


@rule("mcp.sse.subscription-id", level=Level.MUST, source=_page("receiving-notifications"))
def notifications_name_their_subscription(subscription: Subscription) -> None:
    """Each notification of a subscription has the id of its subscriptions/listen request in params._meta.

    Put {"io.modelcontextprotocol/subscriptionId": <that id, as it came>} into params._meta of the acknowledgement and of
    all that follows.
    """
    sent = subscription.reply.sent.get("id")
    for said in _notifications(subscription):
        params = said.value.get("params")
        meta = params.get("_meta") if isinstance(params, Mapping) else None
        if not isinstance(meta, Mapping) or not equal(meta.get(_ID), sent):
            raise Broken(
                f'"{_ID}": {quote(sent)}',
                _show(said),
                at=f"/params/_meta/{_ID.replace('/', '~1')}",
                because=f"{quote(said.value.get('method'), 80)} does not carry the id of its subscription; a client with two of "
                "them cannot tell which one it belongs to, and strict ones drop it",
            )


@rule("mcp.sse.subscription-opted-in", level=Level.MUST, source=_page("opening-a-stream"))
def only_what_was_asked_for_is_told(subscription: Subscription) -> None:
    """A subscription tells only the types of notifications that its request names.

    Compare each notification with the request's params.notifications before it is sent: those left out are not wanted.
    Progress and log messages belong on the stream of the request that they are about.
    """
    asked = {method for name, method in _TYPES.items() if subscription.asked.get(name) is True}
    for said in _notifications(subscription):
        method = said.value.get("method")
        if method not in (ACKNOWLEDGED, _CANCELLED, *asked):
            raise Broken(
                f"nothing but {', '.join(sorted(asked))}",
                _show(said),
                because=f"the subscription tells {quote(method, 80)}, which the client did not ask for",
            )
        params = said.value.get("params")
        told = params.get("notifications") if method == ACKNOWLEDGED and isinstance(params, Mapping) else None
        more = [name for name, value in told.items() if value] if isinstance(told, Mapping) else []
        more = [name for name in more if not subscription.asked.get(name)]
        if more:
            raise Broken(
                f"no more than {_names(subscription.asked)}",
                _show(said),
                at="/params/notifications",
                because=f"the acknowledgement agrees to {quote(more[0], 80)}, which the client did not ask for",
            )


def _messages(subscription: Subscription) -> tuple[Said, ...]:
    if subscription.refused:
        raise NotApplicable("subscriptions/listen was refused; mcp.sse.subscription-served looks at it")
    return subscription.stream.messages if subscription.stream is not None else ()


def _notifications(subscription: Subscription) -> Iterator[Said]:
    """Yield the notifications of a stream.

    Raises:
        NotApplicable: there is none.
    """
    found = [said for said in _messages(subscription) if not (said.is_response or said.is_request)]
    if not found:
        raise NotApplicable("no notification came; mcp.sse.subscription-acknowledged looks at it")
    yield from found


def _show(said: Said) -> str:
    return f"event {said.number}: {quote(said.value, 300)}"


def _names(asked: Mapping[str, Any]) -> str:
    return ", ".join(asked)
