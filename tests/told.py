"""Settings as a command line, the environment and ./adcp.yaml give them."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import pytest
from pytest_adcp.harness.options import OPTIONS
from pytest_adcp.harness.settings import Settings, resolve

CLIENT = "--adcp-profile=client"
URL = "--server-url=https://seller.example/mcp"
OWN = "server_url: https://seller.example/mcp\n"
AUTH = "auth: {bearer_env: SELLER_TOKEN, header_env: {X-Key: SELLER_KEY}}\n"
OAUTH = (
    "auth: {oauth: {token_url: https://auth.example/token, client_id_env: SELLER_KEY, "
    "client_secret_env: SELLER_TOKEN}}\n"
)
SANDBOX = '{"account_id": "sandbox-1"}'


def quiet(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Make a folder the current one and let the environment say nothing but some secrets."""
    for name in list(os.environ):
        if name.startswith("ADCP_") or name.lower().endswith("_proxy") or name == "SSL_CERT_FILE":
            monkeypatch.delenv(name)
    monkeypatch.setenv("SELLER_TOKEN", "bearer-s3cret")
    monkeypatch.setenv("SELLER_LOGIN", "user:pass-s3cret")
    monkeypatch.setenv("SELLER_KEY", "key-s3cret")
    monkeypatch.chdir(folder)


def told(*arguments: str, yaml: str | None = None) -> Settings:
    """Return the settings for a command line in the current folder, where adcp.yaml is written first if given."""
    if yaml is not None:
        Path("adcp.yaml").write_text(yaml, "utf-8")
    parser = argparse.ArgumentParser()
    for option in OPTIONS:
        action = "store_true" if option.metavar is None else "append" if option.several else "store"
        alone: dict[str, Any] = {"nargs": "?", "const": option.usual} if option.usual else {}
        parser.add_argument(option.flag, dest=option.dest, action=action, default=None, **alone)
    return resolve(parser.parse_args(arguments), Path.cwd())


def complaint(*arguments: str, yaml: str | None = None) -> str:
    """Return the usage error for a command line; no error of any of these tests may hold a secret."""
    with pytest.raises(pytest.UsageError) as caught:
        told(*arguments, yaml=yaml)
    assert caught.value.__cause__ is None
    assert "s3cret" not in str(caught.value)
    return str(caught.value)
