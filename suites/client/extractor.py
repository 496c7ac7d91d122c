"""How a client library, or the adapter before it, keeps to the extractor protocol."""

from __future__ import annotations

from pytest_adcp.harness.library.records import Extracted, NoAnswer
from pytest_adcp.harness.library.subjects import LibraryRun, VectorRun
from pytest_adcp.harness.rules import Blocked, Broken, Level, NotApplicable, rule
from pytest_adcp.harness.sources import EXTRACTION, adcp
from pytest_adcp.harness.text import one_line, plural, quote

from .compare import broken

_PAGE = adcp(EXTRACTION, "client-library-requirements")


@rule("client.extractor.answers", level=Level.MUST, source=_PAGE)
def every_answer_is_survived(vector: VectorRun) -> None:
    """A library answers for every response of a seller: it does not crash, and does not hang.

    Catch what the library raises and answer with `error`; where it crashes or hangs, a seller can do that to each of its users.
    """
    answer = vector.answer
    if isinstance(answer, NoAnswer):
        if not answer.asked:
            raise Blocked(answer.why)
        raise broken(vector, "an answer", one_line(answer.why, 600), "the library gives no answer")


@rule("client.extractor.path", level=Level.SHOULD, source=adcp(EXTRACTION, "extraction-paths"))
def the_path_is_the_true_one(vector: VectorRun) -> None:
    """Where an extractor tells the path, it is the one that the data came by.

    Tell `path` from the branch that was taken, or leave it out.
    """
    answer = vector.answer
    if not isinstance(answer, Extracted) or answer.path is None or answer.data is None:
        raise NotApplicable("no path is told")
    if not vector.vector.expects_nothing and answer.path != vector.vector.path:
        raise broken(vector, vector.vector.path, quote(answer.path), "the extractor tells another path")


@rule("client.extractor.protocol", level=Level.MUST, source=_PAGE)
def answers_belong_to_requests(library: LibraryRun) -> None:
    """An extractor answers each request once, by its id, and says nothing else.

    Repeat the `id` of the request in its answer, and write one answer a request (docs/extractor-protocol.md).
    """
    lies = library.behaviour.lies
    if lies:
        raise Broken(
            "one answer for each request",
            lies[0],
            because=f"{plural(len(lies), 'line')} of the extractor answer no open request",
            further=lies[1:4],
        )


@rule("client.extractor.output", level=Level.SHOULD, source=_PAGE)
def nothing_else_is_printed(library: LibraryRun) -> None:
    """A library does not print: on stdin and stdout its host may speak a protocol, as MCP servers do.

    Send the library's log and your prints to stderr.
    """
    printed = library.behaviour.printed
    if printed:
        raise Broken(
            "JSON objects, one a line",
            printed[0],
            because=f"{plural(len(printed), 'line')} on stdout are no answers",
            further=printed[1:4],
        )
