"""The connected-apps profile against the example servers of MCP Apps: real views, made by their authors' own build."""

from __future__ import annotations

from pathlib import Path

import pytest
from runs import run
from servers import finding, found, serving_from_npm

UI = "connected-apps.ui-"
WITHOUT_NEED = {"ui-script-cors"}  # no view has a script of another host in its markup
JUDGED = {
    "ui-resource-readable",
    "ui-size",
    "ui-mime",
    "ui-meta-place",
    "ui-stable",
    "ui-text-fallback",
    "ui-csp-schemes",
    "ui-scripts-inline-or-sri",
    "ui-no-eval-blob-worker",
}


@pytest.mark.parametrize(
    ("package", "tool", "uri", "failed", "advisory"),
    [
        # An ordinary view: one inline module, no metadata, no data: URL.
        ("server-transcript", "transcribe", "ui://transcript/mcp-app.html", set(), set()),
        # const n=document.createElement("script");n.src=`${as}/Cesium.js`, where as is a URL of cesium.com.
        ("server-map", "show-map", "ui://cesium-map/mcp-app.html", set(), {"ui-scripts-inline-or-sri"}),
        # await new Function("ctx","canvas",...): the scene that the model wrote is run as code.
        (
            "server-threejs",
            "show_threejs_scene",
            "ui://threejs/mcp-app.html",
            set(),
            {"ui-no-eval-blob-worker"},
        ),
        # 30 times url("data:image/svg+xml,...") in its style sheet, and resourceDomains without data:.
        ("server-pdf", "list_pdfs", "ui://pdf-viewer/mcp-app.html", {"ui-csp-schemes"}, set()),
    ],
)
def test_findings_on_views(
    tmp_path: Path, package: str, tool: str, uri: str, failed: set[str], advisory: set[str]
) -> None:
    (tmp_path / "adcp.yaml").write_text(f"calls: [{{tool: {tool}, name: once, arguments: {{}}}}]\n")
    with serving_from_npm(package, log=tmp_path / "log") as url:
        done = run(tmp_path, f"--server-url={url}", "--adcp-profile=connected-apps")

    def of_views(outcome: str) -> set[tuple[str, str]]:
        return {(rule, subject) for rule, subject in found(done, outcome) if rule.startswith(UI)}

    def named(rules: set[str]) -> set[tuple[str, str]]:
        return {(f"connected-apps.{rule}", uri) for rule in rules}

    # The only tool of server-pdf that can be called without the internet is one that has no view.
    uncalled = {"ui-text-fallback"} if package == "server-pdf" else set()
    assert of_views("failed") == named(failed), done.out
    assert of_views("advisory") == named(advisory)
    assert of_views("not-applicable") == named(WITHOUT_NEED | uncalled)
    passed = named(JUDGED - failed - advisory - uncalled)
    assert of_views("passed") == passed | {(f"{UI}link", "tools/list")}
    assert not of_views("blocked")


def test_finding_on_data_urls_shows_one_and_counts_them(tmp_path: Path) -> None:
    with serving_from_npm("server-pdf", log=tmp_path / "log") as url:
        done = run(tmp_path, f"--server-url={url}", "--adcp-profile=connected-apps")
    told = finding(done, f"{UI}csp-schemes", "ui://pdf-viewer/mcp-app.html")
    assert "and 29 more places" in str(told["message"])
    assert "data:image/svg+xml" in str(told["received"])
    assert told["pointer"] == "/result/contents/0/text"
    assert '"resourceDomains": ["data:"]' in str(told["fix"])
