"""Which AdCP release a server says it serves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def release_of(capabilities: Mapping[str, Any]) -> tuple[str, str]:
    """Return the release ("3.1") that a get_adcp_capabilities payload names, and the field that names it.

    The echo comes first, then the newest supported version; a server that lists only major versions is judged as 3.0, and so is
    one that names no release at all (then the field is empty).
    """
    echo = _release(capabilities.get("adcp_version"))
    if echo:
        return echo, "adcp_version"
    adcp = capabilities.get("adcp")
    listed = adcp.get("supported_versions") if isinstance(adcp, Mapping) else None
    supported = [found for item in listed if (found := _release(item))] if isinstance(listed, list) else []
    if supported:
        return max(supported, key=numbers), "supported_versions"
    majors = adcp.get("major_versions") if isinstance(adcp, Mapping) else None
    named = isinstance(majors, list) and 3 in majors
    return "3.0", "major_versions" if named else ""


def numbers(release: str | None) -> tuple[int, int]:
    """Return a release as numbers to compare; None counts as 3.0."""
    major, _, minor = (release or "3.0").partition(".")
    return int(major), int(minor)


def _release(text: Any) -> str | None:
    """Return MAJOR.MINOR of a version string (a pre-release or patch part is dropped), None where it is none."""
    if not isinstance(text, str) or len(text) > 32:
        return None
    major, dot, rest = text.partition(".")
    minor = rest.partition("-")[0].partition(".")[0]
    digits = major.isascii() and minor.isascii() and major.isdigit() and minor.isdigit()
    return f"{int(major)}.{int(minor)}" if dot and digits else None
