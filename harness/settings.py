"""The settings of a conformance run."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib import request

import pytest

from . import values
from .alarms import AlarmSettings, alarm_settings
from .calls import Expect
from .config import shown_path
from .credentials import combined, held
from .given import DEMO, Given, Givens, existing, located
from .library.settings import LibrarySettings, library_settings
from .own_server import ServerCommand, server_command
from .plan import AppRequest, ConfiguredCall
from .redact import redact_members
from .release import RELEASES
from .rules import Profile
from .scaffold import Scaffold, path_of, scaffold_of
from .standards import Standards, changed
from .target import CredentialError, Target
from .text import quote
from .transcript import Limits
from .urls import UrlError, display_url, web_address

if TYPE_CHECKING:
    from .fleet.settings import Fleet

# The reference seller takes this account; it is gone when the run is over.
DEMO_ACCOUNT = {"brand": {"domain": "acme.example"}, "operator": "agency.example", "sandbox": True}


@dataclass(frozen=True, slots=True)
class Settings:
    """All that a run was told, checked. Paths are absolute.

    `target` is None for the demo (whose address is not known yet), for a replay, and where no profile needs a
    server. A replay takes plan, limits and name from the recording: here they are at their defaults.
    """

    target: Target | None
    demo: bool
    replay: Path | None
    profiles: tuple[Profile, ...]
    tools: tuple[str, ...]  # globs; none: every tool
    limits: Limits
    mutating: bool
    sandbox_account: Mapping[str, Any] | None
    account: Mapping[str, Any] | None
    calls: tuple[ConfiguredCall, ...]
    auto: bool
    probes: bool
    app: AppRequest | None  # None: the connected-apps profile is not chosen
    standards: Standards
    oauth: str  # the version of OAuth that the operator declares to the platform
    interop: bool
    spec: str | None  # an AdCP release, as 3.1
    schemas: Path | None  # the folder of an unpacked protocol bundle
    report_dir: Path
    record: Path | None
    alarms: AlarmSettings
    sarif: Path | None
    strict: bool
    production: bool
    library: LibrarySettings
    plan_only: bool
    trace: bool
    keep_transcript: bool
    ca_file: Path | None
    client_cert: Path | None
    proxy: str | None = field(repr=False)  # may hold user:password
    config_file: Path | None
    fleet: Fleet | None = None  # many targets, each with settings of its own; `target` is None then
    quick: bool = False  # one call a tool, and nothing beyond
    server: ServerCommand | None = None  # what starts the server under test
    scaffold: Scaffold | None = None  # the configuration that is to be written

    def secrets(self) -> tuple[str, ...]:
        """Return every string that must not be written anywhere, for a Redactor."""
        proxy = Target.parse(self.proxy).secrets() if self.proxy else ()
        own = self.server.secrets() if self.server else ()
        return (*(self.target.secrets() if self.target else ()), *proxy, *own)

    def public(self) -> dict[str, Any]:
        """Return the settings as JSON data for a report, without anything secret."""
        return {
            "server_url": DEMO if self.demo else self.target.display_url if self.target else None,
            "credentials": [str(kind) for kind in self.target.credentials.kinds] if self.target else [],
            "config": _shown(self.config_file),
            "replay": _shown(self.replay),
            "profiles": [str(profile) for profile in self.profiles],
            "tools": list(self.tools),
            "plan": {
                "auto": self.auto,
                "probes": self.probes,
                "interop": self.interop,
                "mutating": self.mutating,
                "only": self.plan_only,
            },
            "connected_apps": (asdict(self.app) | {"oauth": self.oauth} | self.standards.changes())
            if self.app
            else None,
            "calls": [f"{call.tool}/{call.name}" for call in self.calls],
            "account": redact_members(self.account),
            "sandbox_account": redact_members(self.sandbox_account),
            **asdict(self.limits),
            "spec": self.spec,
            "schemas": _shown(self.schemas),
            **self.alarms.public(),
            "strict": self.strict,
            "production": self.production,
            "record": _shown(self.record),
            "sarif": _shown(self.sarif),
            "report_dir": _shown(self.report_dir),
            "vectors": [_shown(path) for path in self.library.vectors],
            **self.library.public(),
            "ca_file": _shown(self.ca_file),
            "client_cert": _shown(self.client_cert),
            "proxy": display_url(self.proxy) if self.proxy else None,
            "trace": self.trace,
            "no_transcript": not self.keep_transcript,
            "targets": self.fleet.total if self.fleet else None,
            "fleet": self.fleet.public() if self.fleet else None,
            "quick": self.quick,
            "server": self.server.public() if self.server else None,
        }


def resolve(namespace: argparse.Namespace, folder: Path) -> Settings:
    """Work out the settings from options, environment and adcp.yaml, for a run started in `folder`.

    Raises:
        pytest.UsageError: the first thing that is wrong, with its option, variable, or file, line and key.
    """
    from .fleet.settings import fleet_of  # builds settings too: one for each of its targets

    givens = Givens(namespace, folder)
    return settings_of(givens, folder, fleet_of(givens, folder))


def settings_of(givens: Givens, folder: Path, fleet: Fleet | None = None) -> Settings:
    """Work out the settings from what was given; as `resolve`."""
    new_file = path_of(givens)
    profiles: tuple[Profile, ...] = givens.read("profile", _profiles, (Profile.CORE,))
    url = givens.get("server-url")
    serverless = givens.replay is not None or fleet is not None or profiles == (Profile.CLIENT,)
    demo = not serverless and url is not None and url.value == DEMO
    target = None if serverless or demo else _target(givens, url)
    account = givens.key("account")
    report_dir = _report_dir(givens, folder)
    sandbox = _sandbox_account(givens, account, demo=demo)
    quick = _flag(givens.get("quick"))
    own_auth = target is None or not _foreign(givens, target)
    scaffold = scaffold_of(givens, new_file, has_server=demo or target is not None, from_config=own_auth)
    return Settings(
        target=target,
        demo=demo,
        replay=givens.file("replay"),
        profiles=profiles,
        tools=givens.read("tool", values.names, ()),
        limits=_limits(givens),
        mutating=_mutating(givens, sandbox) if fleet is None else _flag(givens.get("allow-mutating")),
        sandbox_account=sandbox,
        account=account.value if account else None,
        calls=_calls(givens),
        auto=_flag(givens.key("plan", "auto"), default=True),
        probes=not quick and _flag(givens.key("plan", "probes"), default=True),
        app=_app(givens) if Profile.CONNECTED_APPS in profiles else None,
        standards=_standards(givens),
        oauth=_oauth(givens),
        interop=not quick and _flag(givens.key("plan", "interop"), default=True),
        spec=givens.read("spec", lambda value: values.choice(value, RELEASES, "AdCP release"), None),
        schemas=_schemas(givens),
        report_dir=report_dir,
        record=_file_to_write(givens, "record"),
        sarif=_file_to_write(givens, "sarif"),
        alarms=alarm_settings(givens),
        strict=_flag(givens.get("strict")),
        production=_flag(givens.get("production")),
        library=library_settings(givens, profiles, folder, report_dir),
        plan_only=scaffold is not None or _flag(givens.get("plan")),
        trace=_flag(givens.get("trace")),
        keep_transcript=not _flag(givens.get("no-transcript")),
        ca_file=_ca_file(givens),
        client_cert=_client_cert(givens, target),
        proxy=_proxy(givens, target),
        config_file=givens.config.path if givens.config else None,
        fleet=fleet,
        quick=quick,
        server=_server(givens, target),
        scaffold=scaffold,
    )


def _profiles(value: Any) -> tuple[Profile, ...]:
    return tuple(Profile(values.choice(name, list(Profile), "profile")) for name in values.names(value))


def _target(givens: Givens, url: Given | None) -> Target:
    if url is None:
        where = givens.config.where() if givens.config else "adcp"
        raise pytest.UsageError(
            f"{where}: no server to judge; pass --server-url=URL, or give server_url in adcp.yaml"
        )
    name = givens.key("name")
    shown = quote(display_url(url.value))
    try:
        foreign = _foreign(givens, Target.parse(url.value))
        found = held(givens, from_config=not foreign)
        target = Target.parse(url.value, name=name.value if name else "", credentials=combined(found))
    except UrlError as error:
        raise url.fail(f"{shown} {error}") from None
    except CredentialError as error:
        raise url.fail(f"{shown}: {error}") from None
    if foreign and not target.credentials.kinds:
        _refuse_foreign(givens, url, target)
    return target


def _foreign(givens: Givens, target: Target) -> bool:
    """Whether the target is not the server of adcp.yaml, so that the file's credentials are not for it."""
    if givens.config is None:
        return False
    own = givens.config.get("server_url")
    try:
        return own is None or Target.parse(own).origin != target.origin
    except (UrlError, CredentialError):
        return True


def _refuse_foreign(givens: Givens, url: Given, target: Target) -> None:
    """Raise where only adcp.yaml names credentials: left out in silence they would look like a bad server."""
    certificate = givens.get("client-cert")
    names = [givens.key("auth"), certificate if certificate and certificate.from_config else None]
    theirs = next((name for name in names if name), None)
    if theirs is not None and not (certificate and not certificate.from_config):
        raise url.fail(
            f"{target.origin} is not the origin of server_url in adcp.yaml, and credentials named there "
            f"({theirs.origin}) go nowhere else; name those for this server with --adcp-bearer-env, "
            "--adcp-basic-env, --adcp-header-env or --adcp-client-cert, or take another --adcp-config"
        )


def _server(givens: Givens, target: Target | None) -> ServerCommand | None:
    """Return what starts the server of adcp.yaml; None where that is not the one under test."""
    found = givens.key("server")
    if found is None or target is None or givens.config is None:
        return None
    if givens.config.get("server_url") is None:
        raise found.fail("needs server_url in the same file: where the server listens")
    return None if _foreign(givens, target) else server_command(found)


def _sandbox_account(givens: Givens, account: Given | None, *, demo: bool) -> Mapping[str, Any] | None:
    found = givens.get("sandbox-account")
    if found is None:
        if account is not None and account.value.get("sandbox") is True:
            return account.value  # type: ignore[no-any-return]  # the schema of adcp.yaml says it is a mapping
        return DEMO_ACCOUNT if demo else None
    value = found.read(values.mapping)
    if value.get("sandbox", True) is not True:
        raise found.fail('"sandbox" must be true')
    if "sandbox" not in value and not (isinstance(value.get("account_id"), str) and value["account_id"]):
        raise found.fail('must say "sandbox": true, or name an account_id')
    return value


def _mutating(givens: Givens, sandbox_account: Mapping[str, Any] | None) -> bool:
    found = givens.get("allow-mutating")
    if found is None or not found.read(values.flag):
        return False
    if sandbox_account is None:
        raise found.fail(
            "needs a sandbox account: --adcp-sandbox-account JSON, sandbox_account in adcp.yaml, or an "
            "account there that says sandbox: true"
        )
    return True


def _app(givens: Givens) -> AppRequest:
    return AppRequest(
        third_party=_flag(givens.key("connected_apps", "third_party")),
        issuer=_flag(givens.key("connected_apps", "issuer")),
        verification=_flag(givens.key("connected_apps", "verification")),
    )


def _standards(givens: Givens) -> Standards:
    limits = givens.key("connected_apps", "limits", surveys=False)
    words = givens.key("connected_apps", "words", surveys=False)
    if limits is not None:
        limits.read(lambda found: changed(found, {}))
    if words is not None:
        words.read(lambda found: changed({}, found))
    return changed(limits.value if limits else {}, words.value if words else {})


def _oauth(givens: Givens) -> str:
    found = givens.key("connected_apps", "oauth", surveys=False)
    return str(found.value) if found else "2.1"


def _limits(givens: Givens) -> Limits:
    default = Limits()
    return Limits(
        request_timeout=givens.read("request-timeout", values.seconds, default.request_timeout),
        survey_timeout=givens.read("survey-timeout", values.seconds, default.survey_timeout),
        max_response_bytes=givens.read("max-response-bytes", values.size, default.max_response_bytes),
        client_limit=givens.read("client-limit", values.size, default.client_limit),
        concurrency=givens.read("concurrency", lambda value: values.whole(value, 1, 64), default.concurrency),
        rate=givens.read("rate", values.rate, default.rate),
    )


def _calls(givens: Givens) -> tuple[ConfiguredCall, ...]:
    found = givens.key("calls")
    config = givens.config
    if found is None or config is None:
        return ()
    places: dict[tuple[str, str], str] = {}
    calls = []
    for index, item in enumerate(found.value):
        call = ConfiguredCall(
            tool=item["tool"],
            name=item.get("name", f"call-{index + 1}"),
            arguments=item.get("arguments", {}),
            expect=Expect(item.get("expect", Expect.ANY)),
            error_codes=tuple(item.get("error_codes", ())),
        )
        place = config.where("calls", index, "name" if "name" in item else "tool")
        first = places.setdefault((call.tool, call.name), place)
        if first != place:
            raise pytest.UsageError(
                f"{place}: {quote(f'{call.tool}/{call.name}')} is the name of another call ({first})"
            )
        if call.expect is Expect.SUCCESS and call.error_codes:
            where = config.where("calls", index, "error_codes")
            raise pytest.UsageError(f"{where}: a call that is expected to succeed has no error codes")
        calls.append(call)
    return tuple(calls)


def _flag(found: Given | None, *, default: bool = False) -> bool:
    return default if found is None else found.read(values.flag)


def _report_dir(givens: Givens, folder: Path) -> Path:
    found = givens.get("report-dir")
    if found is None:
        return folder / "adcp-report"
    path = located(found, found.value)
    if path.exists() and not path.is_dir():
        raise found.fail(f"{quote(found.value, 100)} is not a folder")
    return path


def _schemas(givens: Givens) -> Path | None:
    found = givens.get("schemas")
    if found is None:
        return None
    path = located(found, found.value)
    if not path.is_dir():
        raise found.fail(f"{quote(found.value, 100)} is not a folder")
    return path


def _file_to_write(givens: Givens, option: str) -> Path | None:
    found = givens.get(option)
    if found is None:
        return None
    path = located(found, found.value)
    if path.is_dir() or not path.parent.is_dir():
        raise found.fail(f"{quote(found.value, 100)} is not a file in a folder that is there")
    return path


def _ca_file(givens: Givens) -> Path | None:
    found = givens.get("ca-file")
    if found is None or found.value != "env":
        return givens.file("ca-file")
    named = os.environ.get("SSL_CERT_FILE")
    if not named:
        raise found.fail("env asks for SSL_CERT_FILE, which is not set")
    return existing(found, named)


def _client_cert(givens: Givens, target: Target | None) -> Path | None:
    found = givens.get("client-cert")
    if found is None or target is None or (found.from_config and _foreign(givens, target)):
        return None
    return existing(found, found.value)


def _proxy(givens: Givens, target: Target | None) -> str | None:
    found = givens.get("proxy")
    if found is None or target is None:
        return None
    url = _proxy_of_environment(target) if found.value == "env" else found.value
    if url is None:
        return None
    try:
        Target.parse(url)
    except UrlError as error:
        raise found.fail(f"{quote(display_url(url))} {error}") from None
    except CredentialError as error:
        raise found.fail(f"{quote(display_url(url))}: {error}") from None
    return str(url)


def _proxy_of_environment(target: Target) -> str | None:
    parts = web_address(target.url)
    for name in (f"{parts.scheme}_proxy", "all_proxy"):
        value = os.environ.get(name) or os.environ.get(name.upper())
        if value:
            excepted = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
            bypassed: bool = request.proxy_bypass_environment(parts.netloc, {"no": excepted})  # type: ignore[attr-defined]
            return None if bypassed else value
    return None


def _shown(path: Path | None) -> str | None:
    return None if path is None else shown_path(path)
