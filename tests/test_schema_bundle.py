"""Finding AdCP's schemas: in a folder, in the adcp package, or not at all."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bundle import RELEASES, folder
from pytest_adcp.harness.schema_bundle import Bundle, BundleError, find_bundle
from pytest_adcp.harness.schemas import Kind, NoSchemaError, Validators
from small_bundle import FILES, write_bundle

RESPONSE = "media-buy/get-products-response.json"


def found(root: Path) -> Bundle:
    bundle = find_bundle(root)
    assert bundle is not None
    return bundle


@pytest.mark.parametrize("inside", ["", "schemas", "adcp-3.1.7", "adcp-3.1.7/schemas"])
def test_a_bundle_may_lie_in_the_folder_or_below_it(tmp_path: Path, inside: str) -> None:
    write_bundle(tmp_path / inside)
    (tmp_path / "compliance").mkdir()
    (release,) = found(tmp_path).releases.items()
    assert release[0] == "3.1"
    assert (release[1].version, release[1].root) == ("3.1.7", tmp_path / inside)


def test_the_manifest_may_lie_beside_the_schemas(tmp_path: Path) -> None:
    write_bundle(tmp_path / "schemas")
    (tmp_path / "schemas" / "manifest.json").rename(tmp_path / "manifest.json")
    assert found(tmp_path).releases["3.1"].version == "3.1.7"


def test_of_each_release_the_newest_version_counts(tmp_path: Path) -> None:
    for version in ("3.1.9", "3.1.15", "3.1.15-rc.1", "3.0.2", "3.2.0-beta.5"):
        write_bundle(tmp_path / version, version)
    versions = {name: release.version for name, release in found(tmp_path).releases.items()}
    assert versions == {"3.0": "3.0.2", "3.1": "3.1.15", "3.2": "3.2.0-beta.5"}


def without(name: str) -> Callable[[Path], object]:
    return lambda root: write_bundle(root, **{name: None})


def manifest(content: Any) -> Callable[[Path], object]:
    return lambda root: write_bundle(root, **{"manifest.json": content})


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda root: None, "holds no AdCP schemas: neither it"),
        (lambda root: (root / "note.txt").write_text("x"), "manifest.json and core/error.json"),
        (without("core/error.json"), "holds no AdCP schemas"),
        (without("manifest.json"), "but no manifest.json, which says which task has which"),
        (without(RESPONSE), f'the response schema of "get_products" ("{RESPONSE}") is missing'),
        (manifest({}), "has no adcp_version or no tools"),
        (manifest([]), "holds no JSON object"),
        (manifest({"adcp_version": "three", "tools": {"a": {"response_schema": RESPONSE}}}), "is no version"),
        (lambda root: (write_bundle(root) / "manifest.json").write_text("{"), "is not JSON"),
        (lambda root: root.rmdir(), "is not a folder"),
    ],
)
def test_a_wrong_folder_is_named_with_what_it_lacks(
    tmp_path: Path, spoil: Callable[[Path], object], words: str
) -> None:
    root = tmp_path / "given"
    root.mkdir()
    spoil(root)
    with pytest.raises(BundleError) as error:
        find_bundle(root)
    assert words in str(error.value)
    assert str(root) in str(error.value)


def test_what_is_missing_deeper_down_is_named_when_it_is_needed(tmp_path: Path) -> None:
    release = found(write_bundle(tmp_path, **{"core/product.json": None})).releases["3.1"]
    with pytest.raises(BundleError, match=r"core/product\.json cannot be read: No such file"):
        release.closure(RESPONSE)


@pytest.mark.parametrize(
    "reference",
    ["https://evil.example/x.json", "file:///etc/hostname", "../../../x.json", "//evil.example/x.json"],
)
def test_no_reference_leads_out_of_the_bundle(tmp_path: Path, reference: str) -> None:
    (tmp_path / "x.json").write_text("{}")
    inside = tmp_path / "a" / "b"
    release = found(write_bundle(inside, **{"core/product.json": {"$ref": reference}})).releases["3.1"]
    with pytest.raises(BundleError, match="which is not in them"):
        release.closure(RESPONSE)


@pytest.mark.parametrize("own", [{}, {"$id": "/schemas/3.1.7/core/product.json"}])
@pytest.mark.parametrize(
    "reference",
    [
        "error.json",
        "/schemas/3.1.7/core/error.json",
        "https://adcontextprotocol.org/schemas/3.1.7/core/error.json",
    ],
)
def test_every_way_to_write_a_reference_is_read(tmp_path: Path, reference: str, own: dict[str, str]) -> None:
    product = {**own, "properties": {"x": {"$ref": reference}}}
    release = found(write_bundle(tmp_path, **{"core/product.json": product})).releases["3.1"]
    assert set(release.closure("core/product.json")) == {
        release.url("core/product.json"),
        release.url("core/error.json"),
    }


def test_there_may_be_no_schema_for_a_release_or_a_task(tmp_path: Path) -> None:
    validators = Validators(found(write_bundle(tmp_path)))
    with pytest.raises(
        NoSchemaError, match=r"serves AdCP 3\.2, and the schemas at hand .* are those of 3\.1"
    ):
        validators.for_task("3.2", "get_products", Kind.RESPONSE)
    with pytest.raises(NoSchemaError, match="no schema for get_signals"):
        validators.for_task("3.1", "get_signals", Kind.RESPONSE)
    with pytest.raises(NoSchemaError, match="no schema for get_products, working"):
        validators.for_task("3.1", "get_products", Kind.WORKING)
    one = validators.for_task("3.1", "get_products", Kind.RESPONSE)
    assert validators.for_task("3.1", "get_products", Kind.RESPONSE) is one  # made ready once


def test_a_schema_that_is_none_is_named(tmp_path: Path) -> None:
    pytest.importorskip("jsonschema_rs")  # the other engine finds out when it judges
    broken = found(write_bundle(tmp_path, **{"core/error.json": {**FILES["core/error.json"], "type": 5}}))
    with pytest.raises(BundleError, match=r"the schema core/error\.json of .* cannot be used"):
        Validators(broken).for_task("3.1", "get_products", Kind.ERROR)


# -- the adcp package -----------------------------------------------------------------------------------------


def in_a_process_with(package: Path | None, code: str) -> str:
    paths = [str(package)] if package else []
    program = f"import sys; sys.path[:0] = {paths!r}\nfrom pytest_adcp.harness.schema_bundle import find_bundle\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip()


def test_the_package_is_read_and_not_imported(tmp_path: Path) -> None:
    package = tmp_path / "adcp"
    write_bundle(package / "_schemas" / "3.1")
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    info = tmp_path / "adcp-99.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: adcp\nVersion: 99.1\n")
    code = "b = find_bundle(); print(b.source, b.releases['3.1'].version, 'adcp' in sys.modules)"
    assert in_a_process_with(tmp_path, code) == "adcp 99.1 3.1.7 False"


def test_something_else_called_adcp_is_none(tmp_path: Path) -> None:
    (tmp_path / "adcp.py").write_text("")
    assert in_a_process_with(tmp_path, "print(find_bundle())") == "None"
    (tmp_path / "adcp.py").unlink()
    (tmp_path / "adcp").mkdir()
    (tmp_path / "adcp" / "__init__.py").write_text("")
    assert in_a_process_with(tmp_path, "print(find_bundle())") == "None"


@pytest.mark.skipif(importlib.util.find_spec("adcp") is not None, reason="the adcp package is installed here")
def test_without_the_package_there_are_no_schemas() -> None:
    assert find_bundle() is None


def test_the_published_bundles_are_read() -> None:
    root = folder()
    if root is None:
        pytest.skip("no AdCP schemas are at hand")
    bundle = found(root)
    assert set(RELEASES) <= set(bundle.releases)
    for name in RELEASES:
        release = bundle.releases[name]
        assert release.version.startswith(f"{name}.")
        assert len(release.closure(release.response("get_products") or "")) > 50
