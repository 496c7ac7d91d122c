"""What a client library has to make of an MCP answer that is a success."""

from __future__ import annotations

from pytest_adcp.harness.library.subjects import LibraryRun, VectorRun
from pytest_adcp.harness.rules import Broken, Level, rule
from pytest_adcp.harness.sources import EXTRACTION, adcp

from .compare import compare

_ALGORITHM = adcp(EXTRACTION, "extraction-algorithm")
_REQUIREMENTS = adcp(EXTRACTION, "client-library-requirements")
_SIZES = adcp(EXTRACTION, "size-limits")


@rule("client.extraction.is-error", level=Level.MUST, source=_REQUIREMENTS)
def flagged_answers_are_no_success(vector: VectorRun) -> None:
    """A client looks at isError first: a flagged answer gives no data, one that is not flagged does (requirement 1).

    Return null as soon as `isError` is true, before anything else is read; `is_error`, or an isError somewhere inside, is not the flag.
    """
    compare(vector)


@rule("client.extraction.structured-content", level=Level.MUST, source=_REQUIREMENTS)
def structured_content_comes_first(vector: VectorRun) -> None:
    """A client takes structuredContent where it is an object, and reads the text only where it is not (requirement 2).

    Return `structuredContent` unchanged if it is an object; an array, a string or null there counts as absent.
    """
    compare(vector)


@rule("client.extraction.text", level=Level.MUST, source=_REQUIREMENTS)
def only_objects_come_out_of_texts(vector: VectorRun) -> None:
    """A client reads the text items in their order and takes the first that is a JSON object, no array and no scalar (requirement 3).

    Go over all items whose `type` is `text`, pass over what is no object, and stop at the first that is one.
    """
    compare(vector)


@rule("client.extraction.adcp-error-only", level=Level.MUST, source=_REQUIREMENTS)
def adcp_error_alone_is_no_data(vector: VectorRun) -> None:
    """An object that holds adcp_error and nothing else is no data (requirement 4).

    Return null for such a structuredContent without looking at the text; pass over such a text and go on to the next item.
    """
    compare(vector)


@rule("client.extraction.no-duplicate", level=Level.MUST, source=_REQUIREMENTS)
def no_copy_of_the_data_is_asked_for(vector: VectorRun) -> None:
    """A client takes structuredContent whether or not the text repeats it, and does not change it for what the text says (requirement 5).

    Do not ask for JSON in the text beside structuredContent, do not compare the two, and add nothing of the text to the data.
    """
    compare(vector)


@rule("client.extraction.json", level=Level.MUST, source=_ALGORITHM)
def texts_are_read_as_json(vector: VectorRun) -> None:
    """A text is JSON by the standard or it is none: NaN, comments, trailing commas, prose around the JSON and the like are passed over.

    Parse with a strict reader (in Python: `parse_constant` that raises), and pass over a text that it refuses.
    """
    compare(vector)


@rule("client.extraction.prototype-keys", level=Level.MUST, source=adcp(EXTRACTION, "prototype-pollution"))
def names_of_prototypes_are_plain_names(vector: VectorRun) -> None:
    """__proto__, constructor and the like are names as any other: they come through and change nothing.

    Never merge what was extracted into an object (Object.assign, spread, setattr); return what the parser gave.
    """
    compare(vector)


@rule("client.extraction.limit", level=Level.MUST, source=_SIZES)
def the_limit_is_kept(vector: VectorRun) -> None:
    """A client reads a text up to the size that it declares, and none beyond.

    Compare the size before the text is parsed; exactly the limit is still read. Pass a larger text over, or raise an error of its own.
    """
    compare(
        vector,
        lenient_when_thrown="newer text of the page asks for an error of its own where a text is too large",
    )


@rule("client.extraction.depth", level=Level.SHOULD, source=_ALGORITHM)
def deep_answers_do_no_harm(vector: VectorRun) -> None:
    """A client reads data that is nested deeply, or passes over it; it does not break.

    Catch what the parser raises at its depth limit (in Python: RecursionError) and pass over the text.
    """
    compare(vector)


@rule("client.extraction.limit-declared", level=Level.SHOULD, source=_SIZES)
def a_limit_is_declared(library: LibraryRun) -> None:
    """A client bounds what it reads: a seller may send any amount.

    Give the library a limit (4 MiB is usual, and callers can change it), and declare it as `limit` in the handshake.
    """
    limit = library.declared.limit
    if limit is None:
        raise Broken(
            "limit in the handshake", "none", because="the library declares no limit of what it reads"
        )
    if limit.size is None:
        raise Broken("a limit", "null", because="the library declares that it reads texts of any size")
