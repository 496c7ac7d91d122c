"""Which AdCP release a server says it serves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RELEASES = ("3.0", "3.1", "3.2")  # those that are judged, the oldest first
_LISTED = 100  # entries of supported_versions that are looked at
PINNED = "--adcp-spec"  # what names the release where the user does
BEFORE_3 = "2.x"  # the release of a server that shows no sign of AdCP 3
WHY_BEFORE_3 = (
    "get_adcp_capabilities is not listed and nothing else is of AdCP 3, so this counts as a server of AdCP 2.x, "
    f"where only the extraction of data is judged ({PINNED}=3.1 judges it in full)"
)


def release_of(capabilities: Mapping[str, Any]) -> tuple[str, str]:
    """Return the release ("3.1") that a get_adcp_capabilities payload names, and the field that names it.

    The echo comes first, then the newest supported version; a server that lists only major versions is judged as 3.0, and so is
    one that names no release at all (then the field is empty).
    """
    echo = release_of_version(capabilities.get("adcp_version"))
    if echo:
        return echo, "adcp_version"
    supported = supported_by(capabilities)
    if supported:
        return supported[0], "supported_versions"
    adcp = capabilities.get("adcp")
    majors = adcp.get("major_versions") if isinstance(adcp, Mapping) else None
    named = isinstance(majors, list) and 3 in majors
    return "3.0", "major_versions" if named else ""


def supported_by(capabilities: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the releases that a get_adcp_capabilities payload lists, the newest first."""
    adcp = capabilities.get("adcp")
    listed = adcp.get("supported_versions") if isinstance(adcp, Mapping) else None
    found = {release_of_version(item) for item in listed[:_LISTED]} if isinstance(listed, list) else set()
    return tuple(sorted((release for release in found if release), key=numbers, reverse=True))


def numbers(release: str | None) -> tuple[int, int]:
    """Return a release as numbers to compare; None counts as 3.0, and 2.x comes before every other."""
    if release == BEFORE_3:
        return 2, 0
    major, _, minor = (release or "3.0").partition(".")
    return int(major), int(minor)


def release_of_version(text: Any) -> str | None:
    """Return MAJOR.MINOR of a version string (a pre-release or patch part is dropped), None where it is none."""
    if not isinstance(text, str) or len(text) > 32:
        return None
    major, dot, rest = text.partition(".")
    minor = rest.partition("-")[0].partition(".")[0]
    digits = major.isascii() and minor.isascii() and major.isdigit() and minor.isdigit()
    return f"{int(major)}.{int(minor)}" if dot and digits else None
