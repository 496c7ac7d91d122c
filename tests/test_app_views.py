"""The rules on user interfaces, on literal answers: what each finds, and what it leaves alone."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from apps import app, judged, text_of, tool
from pytest_adcp.harness import markup
from pytest_adcp.harness.markup import INSTALL, ParserMissingError
from pytest_adcp.harness.standards import changed
from pytest_adcp.harness.transcript import End
from pytest_adcp.harness.verdict import Outcome
from viewing import LINKED, PAGE, TYPE, URI, item, viewed, with_body

PASSED, FAILED, ADVISORY = Outcome.PASSED, Outcome.FAILED, Outcome.ADVISORY
NONE = Outcome.NOT_APPLICABLE
UI_RULES = (
    "link",
    "resource-readable",
    "size",
    "mime",
    "meta-place",
    "text-fallback",
    "stable",
    "csp-schemes",
    "scripts-inline-or-sri",
    "no-eval-blob-worker",
    "script-cors",
)
BLOB = base64.b64encode(PAGE.encode()).decode()
SHA = "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
CDN = "https://cdn.example/chart.js"
SRI = f'<script src="{CDN}" integrity="{SHA}" crossorigin="anonymous"></script>'


def linked(**meta: Any) -> dict[str, Any]:
    return tool(_meta={key.replace("__", "/"): value for key, value in meta.items()})


@pytest.mark.parametrize("rule", UI_RULES)
def test_nothing_is_asked_of_a_server_without_user_interfaces(rule: str) -> None:
    assert judged(app(tool()), f"ui-{rule}").outcome is NONE


@pytest.mark.parametrize("rule", [rule for rule in UI_RULES if rule not in ("text-fallback", "script-cors")])
def test_good_view_passes(rule: str) -> None:
    assert judged(viewed(item()), f"ui-{rule}").outcome is PASSED


@pytest.mark.parametrize(
    ("meta", "outcome"),
    [
        ({"ui": {"resourceUri": URI}}, PASSED),
        ({"ui": {"resourceUri": URI}, "ui__resourceUri": URI}, PASSED),
        ({"ui": {"visibility": ["app"]}}, NONE),
        ({"ui__resourceUri": URI}, ADVISORY),
        ({"ui": {"resourceUri": URI}, "ui__resourceUri": "ui://old"}, FAILED),
        ({"ui": {"resourceUri": 7}}, FAILED),
        ({"openai__outputTemplate": URI}, ADVISORY),
    ],
)
def test_link(meta: dict[str, Any], outcome: Outcome) -> None:
    assert judged(app(linked(**meta)), "ui-link").outcome is outcome


@pytest.mark.parametrize(
    ("contents", "outcome"),
    [
        ([item()], PASSED),
        ([item(None, blob=BLOB)], PASSED),
        ([{"uri": "ui://other", "text": ""}, item()], PASSED),
        ([item(None)], FAILED),
        ([item(blob=BLOB)], FAILED),
        ([item(None, blob="*")], FAILED),
        ([], FAILED),
        ([item(uri="ui://a"), item(uri="ui://b")], FAILED),
        ([item(uri=f"{URI}/")], ADVISORY),
        ([item("only words")], ADVISORY),
    ],
)
def test_readable(contents: list[dict[str, Any]], outcome: Outcome) -> None:
    assert judged(viewed(*contents), "ui-resource-readable").outcome is outcome


def test_what_cannot_be_read_fails_one_rule_only() -> None:
    evidence = viewed(error={"code": -32002, "message": "Resource not found"})
    outcomes = {rule: judged(evidence, f"ui-{rule}").outcome for rule in UI_RULES}
    assert outcomes.pop("resource-readable") is FAILED
    assert set(outcomes.values()) == {PASSED, NONE}


def test_link_to_the_web_fails() -> None:
    url = "https://widgets.example/chart"
    evidence = viewed(item(uri=url), tools=[linked(ui={"resourceUri": url})], uri=url)
    found = judged(evidence, "ui-resource-readable")
    assert (found.outcome, found.pointer) == (FAILED, "/result/tools/0/_meta/ui/resourceUri")


def test_capability_is_missed() -> None:
    assert judged(viewed(item(), declared=False), "ui-resource-readable").outcome is ADVISORY


def test_no_answer_is_no_verdict() -> None:
    assert judged(viewed(item(), end=End.DEADLINE), "ui-resource-readable").outcome is Outcome.BLOCKED


def test_listed_view_is_judged_and_other_resources_are_not() -> None:
    listed = [{"uri": "videos://intro", "mimeType": "video/mp4"}, {"uri": URI, "mimeType": TYPE}]
    evidence = viewed(item(mimeType="text/plain"), tools=[tool()], listed=listed)
    found = judged(evidence, "ui-mime")
    assert (found.outcome, found.subject) == (FAILED, URI)


@pytest.mark.parametrize(
    ("limits", "outcome"),
    [({"view_mb": 1}, FAILED), ({"view_mb": 2}, PASSED), ({"views_mb": 1}, FAILED)],
)
def test_size(limits: dict[str, int], outcome: Outcome) -> None:
    page = item(PAGE + " " * (1 << 20))
    assert judged(viewed(page), "ui-size", changed(limits, {})).outcome is outcome


@pytest.mark.parametrize(
    ("size", "outcome"), [(1_000_000, PASSED), (1_000_001, ADVISORY), (1 << 20, ADVISORY)]
)
def test_size_between_two_megabytes_is_an_advisory(size: int, outcome: Outcome) -> None:
    assert judged(viewed(item("x" * size)), "ui-size", changed({"view_mb": 1}, {})).outcome is outcome


@pytest.mark.parametrize(
    ("members", "cure"),
    [
        ({"text": None, "blob": "*"}, "standard alphabet with its padding"),
        ({"text": ""}, "Send a whole document in UTF-8"),
    ],
)
def test_a_view_without_a_body_is_told_how_to_have_one(members: dict[str, Any], cure: str) -> None:
    assert cure in judged(viewed(item(**members)), "ui-resource-readable").fix


@pytest.mark.parametrize(
    ("html", "elsewhere"),
    [('<img src="data:image/png,a">', True), ('<iframe src="data:text/html,a">', False)],
)
def test_what_other_hosts_allow_is_told_of_images_only(html: str, elsewhere: bool) -> None:
    found = judged(viewed(with_body(html)), "ui-csp-schemes")
    assert found.outcome is FAILED
    assert ("by themselves" in found.message) is elsewhere


def test_blob_counts_as_what_it_stands_for() -> None:
    blob = base64.b64encode(b"x" * 900_000).decode()
    assert judged(viewed(item(None, blob=blob)), "ui-size", changed({"view_mb": 1}, {})).outcome is PASSED


def test_what_is_too_large_to_read_is_too_large() -> None:
    assert judged(viewed(item(), end=End.TOO_LARGE), "ui-size").outcome is FAILED
    assert judged(viewed(item(), end=End.TOO_LARGE), "ui-resource-readable").outcome is NONE


@pytest.mark.parametrize(
    ("mime", "outcome"),
    [
        (TYPE, PASSED),
        ('Text/HTML ; Profile="mcp-app"', PASSED),
        ("text/html", ADVISORY),
        ("text/html;profile=mcp-app;charset=utf-8", ADVISORY),
        ("text/html;charset=utf-8", ADVISORY),
        ("text/html+skybridge", FAILED),
        ("application/javascript", FAILED),
        ("image/png", FAILED),
        (None, FAILED),
    ],
)
def test_mime(mime: str | None, outcome: Outcome) -> None:
    assert judged(viewed(item(mimeType=mime)), "ui-mime").outcome is outcome


@pytest.mark.parametrize("mime", ["text/css", "text/javascript", "text/html"])
def test_mime_of_what_is_only_listed(mime: str) -> None:
    evidence = viewed(item(mimeType=mime), tools=[tool()], listed=[{"uri": URI, "mimeType": mime}])
    assert judged(evidence, "ui-mime").outcome is PASSED


def test_list_and_item_of_two_types() -> None:
    evidence = viewed(item(), listed=[{"uri": URI, "mimeType": "text/html"}])
    assert judged(evidence, "ui-mime").outcome is ADVISORY


@pytest.mark.parametrize(
    "csp",
    [
        {
            "resourceDomains": [
                "https://cdn.example",
                "https://*.tiles.example",
                "data:",
                "blob:",
                SHA,
                f"'{SHA}'",
            ]
        },
        {
            "connectDomains": ["wss://live.example:8443", "https://api.example/"],
            "resourceDomains": ["'wasm-unsafe-eval'"],
        },
        {},
    ],
)
def test_metadata_in_order(csp: dict[str, Any]) -> None:
    assert judged(viewed(item(csp=csp)), "ui-meta-place").outcome is PASSED


@pytest.mark.parametrize(
    "csp",
    [
        {"resource_domains": ["data:"]},
        {"scriptDomains": []},
        {"resourceDomains": "data:"},
        {"resourceDomains": ["http://cdn.example"]},
        {"resourceDomains": ["cdn.example"]},
        {"resourceDomains": ["https://cdn.example/lib/"]},
        {"resourceDomains": ["'unsafe-eval'"]},
        {"resourceDomains": ["data"]},
        {"resourceDomains": [None]},
        [],
    ],
)
def test_metadata_out_of_order(csp: Any) -> None:
    assert judged(viewed(item(csp=csp)), "ui-meta-place").outcome is ADVISORY


def test_metadata_on_the_tool() -> None:
    evidence = viewed(item(), tools=[linked(ui={"resourceUri": URI, "permissions": {"camera": {}}})])
    found = judged(evidence, "ui-meta-place")
    assert (found.outcome, found.pointer) == (ADVISORY, "/result/tools/0/_meta/ui/permissions")


def test_two_reads_give_the_same() -> None:
    assert judged(viewed(item(), again=[item(f"{PAGE} ")]), "ui-stable").outcome is ADVISORY
    assert judged(viewed(item(), again=[]), "ui-stable").outcome is NONE


@pytest.mark.parametrize(
    ("html", "listed", "outcome"),
    [
        ('<img src="data:image/gif;base64,AA">', ["data:"], PASSED),
        ('<img src="data:image/gif;base64,AA">', ["DATA:"], PASSED),
        ('<img src="data:image/gif;base64,AA">', [], FAILED),
        ('<img src="data:image/gif;base64,AA">', ["data", "https://data.example"], FAILED),
        ('<img srcset="a.png 1x, data:image/gif;base64,AA 2x">', [], FAILED),
        ('<video poster=" DATA:image/gif;base64,AA">', [], FAILED),
        ("<style>a { background: url( 'data:image/png,1') }</style>", [], FAILED),
        ("<style>a { background: url(blob:null/1) }</style>", ["data:"], FAILED),
        ('<p style="background: url(data:image/png,1)">', [], FAILED),
        ('<iframe src="data:text/html,x"></iframe>', ["data:"], FAILED),
        ('<script src="data:text/javascript,x"></script>', [], FAILED),
        # Nothing of this is loaded.
        ("<style>/* url(data:1) */ a::after { content: 'url(data:2)' }</style>", [], PASSED),
        ('<template><img src="data:image/gif;base64,AA"></template>', [], PASSED),
        (
            '<!-- <img src="data:image/gif;base64,AA"> --><a href="data:text/plain,x" download>x</a>',
            [],
            PASSED,
        ),
        ('<noscript><img src="data:image/gif;base64,AA"></noscript>', [], PASSED),
        ('<textarea><img src="data:image/gif;base64,AA"></textarea>', [], PASSED),
        ('<link rel="icon" href="data:,">', [], PASSED),
        ("<script>const html = '<img src=\"data:text/plain,1\">'</script>", [], PASSED),
        ('<script>image.src = "data:image/png;base64,AA"</script>', [], ADVISORY),
        ('<script>image.src = "data:image/png;base64,AA"</script>', ["data:"], PASSED),
        ('<script>new Worker(new URL("data:text/javascript;base64,AA"))</script>', [], ADVISORY),
        ('<script>save("data:audio/midi,MThd")</script>', [], PASSED),
    ],
)
def test_csp_schemes(html: str, listed: list[str], outcome: Outcome) -> None:
    assert judged(viewed(with_body(html, *listed)), "ui-csp-schemes").outcome is outcome


def test_frames_have_a_list_of_their_own() -> None:
    frame = with_body('<iframe src="data:text/html,x"></iframe>', frameDomains=["data:"])
    assert judged(viewed(frame), "ui-csp-schemes").outcome is PASSED


def test_metadata_of_the_item_wins_over_the_list() -> None:
    image = '<img src="data:image/gif;base64,AA">'
    entry = {"uri": URI, "_meta": {"ui": {"csp": {"resourceDomains": ["data:"]}}}}
    assert judged(viewed(item(image), listed=[entry]), "ui-csp-schemes").outcome is PASSED
    assert judged(viewed(with_body(image), listed=[entry]), "ui-csp-schemes").outcome is FAILED


@pytest.mark.parametrize(
    ("html", "listed", "outcome"),
    [
        (SRI, [SHA], PASSED),
        (SRI, [f"'{SHA}'"], PASSED),
        (SRI, [SHA.replace("+", "-").replace("/", "_").rstrip("=")], PASSED),
        (SRI, ["https://cdn.example"], FAILED),
        (SRI.replace('"anonymous"', '""'), [SHA], PASSED),
        (SRI.replace(' crossorigin="anonymous"', ""), [SHA], FAILED),
        (SRI.replace("anonymous", "use-credentials"), [SHA], ADVISORY),
        (SRI.replace(SHA, "sha384-AA"), [SHA], ADVISORY),
        (SRI.replace(SHA, f"sha384-AA {SHA}"), [SHA], PASSED),
        (f"{SRI}<script>start()</script>", [SHA], ADVISORY),
        (f'<script src="{CDN}"></script>', ["https://cdn.example"], FAILED),
        ('<script src="//cdn.example/chart.js" type=module></script>', [], FAILED),
        ('<script src="./chart.js"></script>', [], FAILED),
        ('<base href="https://cdn.example/"><script src="chart.js"></script>', [], FAILED),
        (f'<link rel="modulepreload" href="{CDN}">', [], FAILED),
        (f'<link rel="preload" as="script" href="{CDN}">', [], FAILED),
        (f'<script type="module">/* a */ import {{a}} from "{CDN}";\nstart()</script>', [], FAILED),
        (f'<script type="importmap">{{"imports": {{"a": "{CDN}"}}}}</script>', [], ADVISORY),
        (
            f'<script type="importmap">{{"integrity": {{"{CDN}": "{SHA}"}}}}</script><script type="module">import "{CDN}"</script>',
            [SHA],
            ADVISORY,  # the inline script beside it
        ),
        (f'<svg><script href="{CDN}"></script></svg>', [], FAILED),
        # Nothing of this is a script that is loaded.
        (f'<script type="application/json" src="{CDN}"></script>', [], PASSED),
        (f'<script nomodule src="{CDN}"></script>', [], PASSED),
        (f"<script>const page = '<script src=\"{CDN}\">'</script>", [], PASSED),
        (f'<script type="module">start(); const code = `import a from "{CDN}"`</script>', [], PASSED),
        (f'<link rel="preload" as="style" href="{CDN}">', [], PASSED),
        ('<script src=""></script><script>start()</script>', [], PASSED),
        # Read from the text of a script.
        ('<script>const n=document.createElement("script");n.src=`${base}/lib.js`</script>', [], ADVISORY),
        (f'<script>await import("{CDN}")</script>', [], ADVISORY),
        (
            '<script>r=a.createElement("script"),Fe(r),Dt(r,"link",e),a.head.appendChild(r)</script>',
            [],
            PASSED,
        ),
        ('<script>n=d.createElement("script");image.src="a.png"</script>', [], PASSED),
    ],
)
def test_scripts(html: str, listed: list[str], outcome: Outcome) -> None:
    assert judged(viewed(with_body(html, *listed)), "ui-scripts-inline-or-sri").outcome is outcome


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        ('new Function("ctx", code)(ctx)', ADVISORY),
        ("value = eval(text)", ADVISORY),
        ("new Worker(URL.createObjectURL(new Blob([code])))", ADVISORY),
        ('function may(){try{return new Function(""),!0}catch{return!1}}', PASSED),
        ("try { new Function(code) } catch {}", PASSED),
        ("model.eval(text); retrieval(text); // eval() is evil", PASSED),
        ('new Worker("worker.js"); ' + " " * 300 + "URL.createObjectURL(file)", PASSED),
    ],
)
def test_eval_and_workers(script: str, outcome: Outcome) -> None:
    page = with_body(f"<script>{script}</script>")
    assert judged(viewed(page), "ui-no-eval-blob-worker").outcome is outcome


def test_script_hosts_are_asked_only_where_the_user_says_so() -> None:
    found = judged(viewed(with_body(SRI, SHA)), "ui-script-cors")
    assert found.outcome is NONE
    assert "third_party: true" in found.message


def test_finding_says_what_to_paste() -> None:
    found = judged(viewed(with_body('<img src="data:image/gif;base64,AA">')), "ui-csp-schemes")
    assert '"resourceDomains": ["data:"]' in found.fix
    assert "<img src>" in text_of(found)


def test_without_the_parser_nothing_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "justhtml", None)
    with pytest.raises(ParserMissingError):
        markup.read_markup(PAGE)
    found = judged(viewed(with_body(SRI)), "ui-scripts-inline-or-sri")
    assert found.outcome is NONE
    assert INSTALL in found.message


def test_one_finding_for_two_tools_with_one_view() -> None:
    second = {**LINKED, "name": "get_forecast"}
    assert judged(viewed(item(None), tools=[LINKED, second]), "ui-resource-readable").outcome is FAILED
