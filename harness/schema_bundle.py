"""Where AdCP's published schemas come from: the `adcp` package, read as data, or an unpacked protocol bundle."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag, urljoin

from .release import release_of_version
from .text import quote

HOW_TO_GET = (
    "install the schemas extra (pip install 'pytest-adcp[schemas]'), or pass --adcp-schemas DIR, the folder of an "
    "unpacked AdCP protocol bundle"
)
ERROR_OBJECT = "core/error.json"
_SITE = "https://adcontextprotocol.org/schemas"
_MANIFEST = "manifest.json"


class BundleError(ValueError):
    """The schemas cannot be used; the text says what is missing, and where."""


@dataclass(frozen=True, slots=True)
class Release:
    """The schemas of one AdCP version; paths of files are those of the manifest (`media-buy/get-products-response.json`)."""

    root: Path
    version: str  # all three numbers
    tools: Mapping[str, Mapping[str, Any]]  # by task

    def response(self, task: str) -> str | None:
        """Return the file of a task's response schema; None where the release does not have the task."""
        tool = self.tools.get(task)
        return str(tool["response_schema"]) if tool else None

    def interim(self, task: str, status: str) -> str | None:
        """Return the file that describes a task's answer while it is submitted, working or input-required."""
        files = self.tools.get(task, {}).get("async_response_schemas", ())
        return next((str(file) for file in files if str(file).endswith(f"-{status}.json")), None)

    def url(self, file: str) -> str:
        """Return the address that a file is published under."""
        return f"{_SITE}/{self.version}/{file}"

    def closure(self, file: str) -> dict[str, Any]:
        """Return a schema and all that it refers to, by address.

        Releases write references in three ways (an absolute path beside `$id`, a relative path, a URL): all become
        addresses below the release's own, so that a reference to anything else is noticed, and never followed.

        Raises:
            BundleError: a file is missing or no schema, or a reference leads out of the bundle.
        """
        documents: dict[str, Any] = {}
        wanted = [self.url(file)]
        while wanted:
            url = wanted.pop()
            if url not in documents:
                documents[url] = document = self._read(url)
                base = base_of(url, document)
                wanted.extend(urldefrag(urljoin(base, reference)).url for reference in _references(document))
        return documents

    def _read(self, url: str) -> Any:
        home = self.url("")
        if not url.startswith(home):
            raise BundleError(f"the schemas in {self.root} refer to {quote(url)}, which is not in them")
        return _json(self.root / url.removeprefix(home))


@dataclass(frozen=True, slots=True)
class Bundle:
    """The releases at hand, by MAJOR.MINOR, and where they come from: "adcp 9.2.0", or a folder."""

    source: str
    releases: Mapping[str, Release]


def find_bundle(folder: Path | None = None, *, shown_as: str = "") -> Bundle | None:
    """Return the schemas in a folder, or those of the `adcp` package, which is not imported; None without either.

    Args:
        folder: an unpacked protocol bundle, its `schemas` folder, or a folder that holds several of them.
        shown_as: what reports call the folder; its own name when left out.

    Raises:
        BundleError: the folder holds no schemas, or not all of them.
    """
    if folder is not None:
        if not folder.is_dir():
            raise BundleError(f"{folder} is not a folder")
        return Bundle(shown_as or folder.name, _releases(folder))
    try:
        spec = importlib.util.find_spec("adcp")
    except (ImportError, ValueError):
        return None
    places = list(spec.submodule_search_locations or ()) if spec else []
    found = next((place for place in (Path(at, "_schemas") for at in places) if place.is_dir()), None)
    return Bundle(f"adcp {_package_version()}".strip(), _releases(found)) if found else None


def base_of(url: str, document: Any) -> str:
    """Return the address that a document's references count from."""
    own = document.get("$id") if isinstance(document, Mapping) else None
    return urljoin(url, own) if isinstance(own, str) else url


def _package_version() -> str:
    try:
        return metadata.version("adcp")
    except metadata.PackageNotFoundError:
        return ""


def _releases(folder: Path) -> dict[str, Release]:
    """Return the newest version of each release that a folder holds."""
    newest: dict[str, Release] = {}
    for root, manifest in _roots(folder):
        found = _release(root, manifest)
        name = release_of_version(found.version)
        if name is None:
            raise BundleError(f"{manifest}: adcp_version {quote(found.version, 40)} is no version")
        if name not in newest or _order(found) > _order(newest[name]):
            newest[name] = found
    if not newest:
        raise BundleError(
            f"{folder} holds no AdCP schemas: neither it, nor a folder in it, nor a folder `schemas` in one of them has "
            f"{_MANIFEST} and {ERROR_OBJECT}"
        )
    return newest


def _roots(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the folders that hold a release's schemas, each with its manifest, which may lie one folder up."""
    outer = [folder, *sorted(path for path in folder.iterdir() if path.is_dir())]
    for root in (path for place in outer for path in (place, place / "schemas")):
        if (root / ERROR_OBJECT).is_file():
            manifest = next((m for m in (root / _MANIFEST, root.parent / _MANIFEST) if m.is_file()), None)
            if manifest is None:
                raise BundleError(
                    f"{root} holds AdCP schemas, but no {_MANIFEST}, which says which task has which"
                )
            yield root, manifest


def _release(root: Path, manifest: Path) -> Release:
    content = _json(manifest)
    version, tools = (content.get(name) for name in ("adcp_version", "tools"))
    if not isinstance(version, str) or not isinstance(tools, Mapping) or not tools:
        raise BundleError(
            f"{manifest} has no adcp_version or no tools: it is not the manifest of AdCP schemas"
        )
    for task, tool in tools.items():
        file = tool.get("response_schema") if isinstance(tool, Mapping) else None
        if not isinstance(file, str) or not (root / file).is_file():
            raise BundleError(
                f"{root}: the response schema of {quote(task, 80)} ({quote(file, 120)}) is missing"
            )
    return Release(root, version, tools)


def _order(release: Release) -> tuple[int, bool, str]:
    """Order the versions of one release: by patch, and a pre-release before what it leads to."""
    core, dash, tail = release.version.partition("-")
    patch = core.rpartition(".")[2]
    return int(patch) if patch.isascii() and patch.isdigit() else 0, not dash, tail


def _json(file: Path) -> Any:
    try:
        content = json.loads(file.read_bytes())
    except OSError as error:
        raise BundleError(f"{file} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise BundleError(f"{file} is not JSON") from None
    if not isinstance(content, dict):
        raise BundleError(f"{file} holds no JSON object")
    return content


def _references(document: Any) -> Iterator[str]:
    stack = [document]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            reference = node.get("$ref")
            if isinstance(reference, str):
                yield reference
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)
