"""Texts that steer a model beyond what their tool is for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from pytest_adcp.harness.rules import Level, Strength, rule
from pytest_adcp.harness.standards import Standards
from pytest_adcp.harness.subjects import App
from pytest_adcp.harness.text import quote

from .descriptions import DESCRIPTIONS
from .hidden import hidden_in
from .hits import Hit, report, tools_of
from .instructions import sentences
from .parameters import parameters_of
from .private import SECURITY
from .texts import Text, names_in, own_names, texts_of
from .words import words_of


def _texts(app: App) -> Iterator[Text]:
    for tool in tools_of(app):
        yield from texts_of(tool)


def _sentences(app: App) -> Iterator[tuple[Text, str]]:
    return ((text, sentence) for text in _texts(app) for sentence in text.sentences())


def _hit(text: Text, sentence: str, fix: str = "") -> Hit:
    return Hit(text.where, quote(sentence, 200), text.at, fix)


def _one_a_text(hits: Iterable[Hit]) -> Iterator[Hit]:
    """Yield the first hit in each text."""
    seen: set[str] = set()
    for hit in hits:
        if hit.at not in seen:
            seen.add(hit.at)
            yield hit


@rule("connected-apps.no-injection", level=Level.MUST, strength=Strength.NEVER, source=SECURITY)
def no_text_takes_over_the_model(app: App) -> None:
    """No text steers the model beyond the tool's own inputs and use, openly or in hidden characters.

    Say what the tool does and what its parameters must be. What the model does afterwards, and what it says to people, is not for
    a description. Hidden characters mostly come from copying: type the text anew.
    """
    report(
        _hidden(app), "a text holds characters that people do not see and a model reads", "visible characters"
    )
    tools = own_names(app)
    report(
        _one_a_text(
            Hit(
                text.where,
                f"{quote(sentence, 200)} ({order})",
                text.at,
                f"take the sentence out: {quote(sentence, 120)}",
            )
            for text, sentence in _sentences(app)
            if (order := _order(app.standards, tools, text, sentence))
        ),
        "a text gives the model orders that are not about this tool's inputs",
        "texts on what the tool does and on its parameters",
    )


def _hidden(app: App) -> Iterator[Hit]:
    for text in _texts(app):
        if (at := next(hidden_in(text.text), None)) is not None:
            code = f"U+{ord(text.text[at]):04X}"
            shown = text.text[max(0, at - 20) : at + 20]
            yield Hit(
                text.where, f"{quote(shown, 200)} ({code} at character {at + 1})", text.at, f"take {code} out"
            )


# What is told of such orders is no such order: a scanner names what it finds.
_TOLD_OF = re.compile(
    r"\b(?:detect\w{0,4}|e\.g|such as|example|like|attack\w{0,3}|attempts?|block\w{0,3}|prevent\w{0,3}|injections?|phrases?|contain\w{0,4}"
    r"|says?|saying|jailbreak\w{0,4}|if|whether|when|not)\b",
    re.I,
)
# What holds at each use of the tool is no condition.
_AT_USE = re.compile(
    r"^\W{0,4}(?:if|when|whenever) (?:you |the (?:assistant|agent|model|ai) )?"
    r"(?:us(?:e|es|ing)|calls?|calling|invok(?:e|es|ing)|runs?|running|reads?|reading|sees?|seeing) (?:this|the|it)\b[^,.!?:]{0,40}[,:]",
    re.I,
)


def _order(standards: Standards, tools: frozenset[str], text: Text, sentence: str) -> str:
    """Say what a sentence orders a model to do beside using the tool; empty where it orders no such thing."""
    for found in standards.any_of("injection_phrases").finditer(sentence):
        before = _AT_USE.sub("", sentence[: found.start() + 1])
        if not _TOLD_OF.search(before) and not _is_quoted(sentence, found.start()):
            return "it sets aside what the model was told before"
    if text.parameter:
        return ""  # there it is about a parameter: how to fill it in
    if (reply := standards.any_of("dictated_replies").search(sentence)) is not None:
        # What a tool for replies says of replies is about its own work.
        own_work = (
            {reply[0].split()[-1].lower()} & {"say", "reply", "respond"} & set(words_of(text.tool.name))
        )
        # An agent that has customers is a person.
        person = re.match(r"agent\b.*\bcustomers?\Z", reply[0], re.I)
        fine = own_work or person or _is_quoted(sentence, reply.start()) or _is_on_inputs(text, sentence)
        return "" if fine else "it dictates what the model says to people"
    # To call another tool of the server, or this one again, is the use of them.
    aftermath = standards.any_of("aftermath_phrases").search(sentence)
    if aftermath is None or names_in(sentence) & (tools | text.own) or _AGAIN.search(sentence):
        return ""
    return "it says what the model does after the call"


def _is_quoted(sentence: str, at: int) -> bool:
    return _QUOTE.search(sentence[max(0, at - 2) : at + 4]) is not None or sentence[:at].count('"') % 2 == 1


def _is_on_inputs(text: Text, sentence: str) -> bool:
    """Whether an order on what to say is about what this tool needs: to ask for an input, or for a confirmation."""
    if names_in(sentence) & text.own:
        return True
    said = set(words_of_text(sentence))
    if re.search(r"\b(?:after|once)\b", sentence, re.I):
        return False
    if _NOT_ASKED.search(sentence):
        return _CONFIRMING.search(sentence) is None or _TWICE.search(sentence) is not None
    if _CONSENT.search(sentence):
        return True  # what it costs and what it does, told before it is done
    return "ask" in said and (
        _CONFIRMING.search(sentence) is not None
        or (_WHAT_TO_FILL_IN.search(sentence) is not None and _SECRETS.search(sentence) is None)
        or any(set(words_of(name)) <= said for name in text.own if words_of(name))
    )


_QUOTE = re.compile('["\u201c\u2018\u00ab`]')
_AGAIN = re.compile(
    r"\b(?:again|retry|poll|wait|within|expires?|fails?|failed|error|this tool again)\b", re.I
)
_NOT_ASKED = re.compile(r"\b(?:never|not|don.t)(?: ever)? ask\b", re.I)
_TWICE = re.compile(r"\b(?:twice|again|more than once)\b", re.I)
_CONSENT = re.compile(
    r"\bbefore (?:you |it |the )?(?:book|buy|call|charg|delet|execut|invok|order|pay|proceed|purchas|run|send|submi|tool|us(?:e|ing))",
    re.I,
)
_WHAT_TO_FILL_IN = re.compile(
    r"\bask (?:the|your|any) (?:users?|customers?|human) (?:(?:for|about) (?:it|them|this|that|the|an?|their|missing|more)\b"
    r"|which\b|what\b|whether\b|who\b|where\b|when\b|how\b|to (?:choose|clarify|pick|provide|select|specify)\b)",
    re.I,
)
_SECRETS = re.compile(
    r"\b(?:passwords?|passcodes?|pins?|cvv|credit cards?|card numbers?|api keys?|tokens?|secrets?|social security|ratings?|reviews?"
    r"|subscri\w{1,8}|upgrad\w{1,4}|donat\w{1,5})\b",
    re.I,
)
_CONFIRMING = re.compile(
    r"\b(?:confirm\w{0,7}|consent|permission|approv\w{1,3}|agree\w{0,4}|clarif\w{1,8}|before)\b", re.I
)


def words_of_text(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return re.findall(r"[a-z0-9]+", text.lower())


@rule(
    "connected-apps.no-model-discretion", level=Level.SHOULD, strength=Strength.GUIDANCE, source=DESCRIPTIONS
)
def nothing_is_left_to_judgement(app: App) -> None:
    """Texts leave nothing to the model's judgement.

    Give the rule instead: "Set detail to full where the user asks for all fields, else to short."
    """
    phrases = app.standards.any_of("discretion_phrases")
    report(
        _one_a_text(_hit(text, sentence) for text, sentence in _sentences(app) if phrases.search(sentence)),
        "a text leaves the choice to the model without a rule for it",
        "when to do what",
    )


@rule("connected-apps.no-shouting", level=Level.SHOULD, strength=Strength.NEVER, source=SECURITY)
def texts_do_not_shout(app: App) -> None:
    """Texts seek no attention with capitals and warning words.

    Write the sentence plainly; rules on parameters are read without IMPORTANT before them.
    """
    words = _any_of(tag.upper() for tag in app.standards.among("shouting_tags"))
    tag = re.compile(rf"(?:\*\*|__)(?:{words})\b|(?:^|[^\w`\"'-])(?:{words})(?:!+:?|: | [-–—] )")
    terms = app.standards.among("terms_in_capitals")
    report(
        _one_a_text(
            _hit(text, line)
            for text in _texts(app)
            for line in _lines(text)
            if ((tag.search(line) and not text.parameter) or _is_loud(line, terms))
            and not names_in(line) & text.own
        ),
        "a text seeks attention with its formatting",
        "plain sentences",
    )


def _any_of(words: Iterable[str]) -> str:
    """Return a regular expression that finds any of some words as they stand, the longest first; none where there is none."""
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)) or "(?!)"


def _lines(text: Text) -> Iterator[str]:
    """Yield the sentences of the lines that are no headings: those end in a colon."""
    for line in text.text.splitlines():
        if not re.search(r":[*_\s]{0,6}$", line[-20:]) and not line.lstrip().startswith("#"):
            yield from sentences(line[:1_000])


def _is_loud(line: str, terms: frozenset[str]) -> bool:
    for found in re.finditer(r"\b[A-Z]{4,20}(?: [A-Z]{4,20}){2,20}\b", line):
        words = found[0].lower().split()
        if (
            sum(word not in terms for word in words) >= _LOUD
            and len(set(words)) >= _LOUD
            and found[0] != line
        ):
            return True
    return False


_LOUD = 3  # words in capitals, one after the other


@rule("connected-apps.no-foreign-tools", level=Level.SHOULD, strength=Strength.NEVER, source=SECURITY)
def texts_name_own_tools_only(app: App) -> None:
    """Texts tell a model to use tools of this server only.

    Take the name out, or correct it where it is a tool of yours that has been renamed.
    """
    tools = own_names(app)
    known: set[str] = set()
    for tool in app.tools:
        known |= {parameter.name for parameter in parameters_of(tool)}
        known |= {
            value for parameter in parameters_of(tool) for value in parameter.values if isinstance(value, str)
        }
    report(
        _one_a_text(
            _hit(text, sentence, f"take {quote(name, 60)} out")
            for text, sentence in _sentences(app)
            for name in _tools_called(sentence)
            if name not in known
            and not any(name == own or own.endswith(f"_{name}") or name.endswith(own) for own in tools)
        ),
        "a text tells the model to use a tool that this server does not have",
        "tools of this server",
    )


_CALLED = re.compile(
    r"\b(?:use|call|invoke|run|using|calling)(?: the)? (?:tool )?[`'\"]?(?P<name>[a-z][a-z0-9]{0,40}(?:_[a-z0-9]{1,40}){1,8})"
    r"(?P<after>[`'\"]?(?:\(| (?:tool|function|first|before|instead|to (?!be))\b|[.,;]|$))",
    re.I,
)


def _tools_called(sentence: str) -> Iterator[str]:
    for found in _CALLED.finditer(sentence):
        if found["name"].islower():
            yield found["name"]


@rule("connected-apps.no-promotion", level=Level.SHOULD, strength=Strength.NEVER, source=SECURITY)
def texts_outrank_no_others(app: App) -> None:
    """Texts do not belittle other people's tools or set themselves above them.

    Say what the tool is good for. To tell it apart from another tool of this server is welcome: name that one.
    """
    phrases, tools = app.standards.any_of("promotion_phrases"), own_names(app)
    report(
        _one_a_text(
            _hit(text, sentence)
            for text, sentence in _sentences(app)
            if phrases.search(sentence)
            and not re.search(r"\b(?:our|this server.?s|of this server|in this server|own) ", sentence, re.I)
            and not names_in(sentence) & (tools - {text.tool.name})
        ),
        "a text sets the tool above other people's tools",
        "what the tool does",
    )


@rule("connected-apps.no-phrase-trigger", level=Level.MUST, strength=Strength.NEVER, source=SECURITY)
def courtesy_triggers_nothing(app: App) -> None:
    """No action is tied to what people say out of courtesy.

    Take the sentence out: a tool runs because its result is wanted.
    """
    phrases = _any_of(app.standards.among("courtesy_phrases"))
    trigger = re.compile(
        r"\b(?:when|whenever|if|once|each time|every time|as soon as)\b(?P<who>[^.!?\"“‘«`]{0,60})[\"'“‘«`]"
        rf"(?:{phrases})[!.,]?[\"'”’»`](?P<then>.{{0,200}})",
        re.I,
    )
    report(
        _one_a_text(
            _hit(text, sentence, f"take the sentence out: {quote(sentence, 120)}")
            for text, sentence in _sentences(app)
            if _is_triggered(app, trigger, text, sentence)
        ),
        "a text ties an action to a courtesy",
        "no action on a stock phrase",
    )


def _is_triggered(app: App, trigger: re.Pattern[str], text: Text, sentence: str) -> bool:
    if (found := trigger.search(sentence)) is None or not _SPEAKERS.search(found["who"]):
        return False
    name = set(words_of(text.tool.name))
    act = _ACTS.search(found["then"])
    # Of a tool for automatic answers the phrase is an input; to run a scene at "good night" is what run_scene is for.
    return not (
        act is None
        or name & app.standards.among("phrase_tools")
        or act[1].split()[0].lower() in name & _HARMLESS
        or re.search(r"\b(?:e\.g|example|such as)\b", sentence[: found.start()], re.I)
    )


_HARMLESS = frozenset({"activate", "create", "disable", "enable", "post", "run", "send", "trigger", "update"})
_SPEAKERS = re.compile(
    r"\b(?:users?|customers?|person|people|someone|somebody|they|assistant|you|conversation|message|chat)\b",
    re.I,
)
_ACTS = re.compile(
    r"^[^.!?]{0,60}?\b(call|run|execute|invoke|trigger|delete|remove|forward|transfer|upload|export|purchase|buy|pay|book|activate|submit"
    r"|share|send (?:the|all|their|his|her|this|a copy)|grant|disable|enable|post|create|update|install|download)\b",
    re.I,
)


@rule("connected-apps.no-exfiltration", level=Level.MUST, strength=Strength.NEVER, source=SECURITY)
def nothing_is_sent_to_third_parties(app: App) -> None:
    """No text has the model send a user's data to a third party.

    Take the sentence out. What the server itself passes on stands in its privacy policy, not in a description.
    """
    own = urlsplit(app.exchange.request.url).hostname or ""
    problem, expected = (
        "a text has the model send a user's data to another host",
        "user data for this server only",
    )
    found = [(text, sentence) for text, sentence in _sentences(app) if _sends_away(app, sentence, own)]
    for_people = [(text, sentence) for text, sentence in found if _HELP_DESK.search(sentence)]
    for hits, lenient in (
        ([each for each in found if each not in for_people], ""),
        (for_people, "it may tell people whom to write to"),
    ):
        cure = (
            _hit(text, sentence, f"take the sentence out: {quote(sentence, 120)}") for text, sentence in hits
        )
        report(_one_a_text(cure), problem, expected, lenient=lenient)


_HELP_DESK = re.compile(
    r"\b(?:contact|dpo|feedback|hello|help|helpdesk|info|legal|privacy|sales|security|support)@", re.I
)
_LINK = re.compile(r"\[[^\]\n]{0,200}\]\([^)\s]{1,300}\)")
_HOST = re.compile(
    r"(?:https?://|\b[\w.+-]{1,60}@)([a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,8})"
    r"|(?<![\w.@/-])((?:[a-z0-9-]{1,63}\.){1,8}(?-i:com|net|org|io|dev|app|co|ai|xyz|cloud|site|info|biz|ru|cn))(?![\w-])",
    re.I,
)
_NOT_THE_MODEL = re.compile(
    r"\b(?:clients?|servers?|callers?|applications?|developers?|browsers?|never|not|e\.g|example)\b", re.I
)


def _sends_away(app: App, sentence: str, own: str) -> bool:
    order = app.standards.any_of("sending_orders").search(sentence)
    if order is None or _NOT_THE_MODEL.search(sentence):
        return False
    rest = _LINK.sub(" ", sentence[order.end() :])
    what = app.standards.any_of("user_data_words").search(rest)
    hosts = [(found[1] or found[2]).lower() for found in _HOST.finditer(rest)]
    return what is not None and any(not _same_owner(host, own) for host in hosts)


def _same_owner(host: str, own: str) -> bool:
    """Whether two hosts share their last two labels, or the one is for examples."""
    ours, theirs = own.lower().split(".")[-2:], host.split(".")[-2:]
    return ours == theirs or theirs[0] == "example" or theirs[-1] in ("example", "test", "invalid", "local")
