"""TLS: the one context of a run, and plain words for what goes wrong."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import certifi
from anyio.streams.tls import TLSAttribute, TLSStream

from .transcript import Tls

_LONGEST_NAME = 200  # characters of a name in a certificate
_SHORT = {
    "commonName": "CN",
    "countryName": "C",
    "localityName": "L",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "stateOrProvinceName": "ST",
}

_CERTIFICATE = {
    9: "is not valid yet",
    10: "has expired",
    18: "is self-signed, and no trusted authority vouches for it",
    19: "comes from an authority that is not trusted (its root is self-signed)",
    20: "comes from an authority that is not trusted, or the server leaves out an intermediate certificate",
    21: "comes from an authority that is not trusted, or the server leaves out an intermediate certificate",
    23: "has been revoked",
    62: "is for another host name",
    64: "is for another IP address",
}
_REASONS = {
    "CERTIFICATE_REQUIRED": "asks for a client certificate",
    "BAD_CERTIFICATE": "does not accept the client certificate, or asks for one",
    "UNKNOWN_CA": "does not know the authority of the client certificate",
    "HANDSHAKE_FAILURE": "found no common cipher, or asks for a client certificate",
    "PROTOCOL_VERSION": "does not offer TLS 1.2 or later",
    "UNSUPPORTED_PROTOCOL": "does not offer TLS 1.2 or later",
    "UNRECOGNIZED_NAME": "has no certificate for this host name",
    "WRONG_VERSION_NUMBER": "does not answer in TLS; is it an http:// URL?",
    "RECORD_LAYER_FAILURE": "does not answer in TLS; is it an http:// URL?",
    "HTTP_REQUEST": "does not answer in TLS; is it an http:// URL?",
}


def ssl_context(ca_file: Path | None = None, client_cert: Path | None = None) -> ssl.SSLContext:
    """Return a context for a run (about 20 ms: make one and share it).

    Trusted are the authorities in `ca_file`, or else those that ship with certifi. SSL_CERT_FILE,
    SSLKEYLOGFILE and the like in the environment change nothing. `client_cert` is a PEM file with a
    certificate and its unencrypted key.

    Raises:
        ValueError: a file cannot be used; the text names it.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    roots = ca_file or Path(certifi.where())
    try:
        context.load_verify_locations(cafile=roots)
    except OSError as error:
        raise ValueError(f"{roots}: no CA certificates in PEM ({_why(error)})") from None
    if client_cert is not None:
        try:
            context.load_cert_chain(client_cert, password=_no_password)
        except OSError as error:
            raise ValueError(f"{client_cert}: no client certificate and key in PEM ({_why(error)})") from None
        except _EncryptedKeyError:
            raise ValueError(f"{client_cert}: the private key is encrypted; give one that is not") from None
    return context


@cache
def default_context() -> ssl.SSLContext:
    """Return the context of runs that configure nothing."""
    return ssl_context()


def tls_facts(stream: TLSStream) -> Tls:
    """Return what was negotiated on a connection, and the certificate that was shown and verified."""
    secured = stream.extra(TLSAttribute.ssl_object)  # noqa: S610 - not Django's
    certificate: Any = secured.getpeercert() or {}
    cipher = secured.cipher()
    alternatives = (name for _, name in certificate.get("subjectAltName", ()))
    return Tls(
        version=secured.version() or "",
        cipher=cipher[0] if cipher else "",
        # Certificates of today often name their hosts in the extension alone.
        subject=_name(certificate.get("subject", ())) or next(alternatives, "")[:_LONGEST_NAME],
        issuer=_name(certificate.get("issuer", ())),
        not_after=_date(certificate.get("notAfter", "")),
    )


def _name(parts: Any) -> str:
    """Return a distinguished name, as `O=Example, CN=seller.example`."""

    def pairs() -> Iterator[str]:
        for part in parts:
            for kind, value in part:
                yield f"{_SHORT.get(kind, kind)}={value}"

    return ", ".join(pairs())[:_LONGEST_NAME]


def _date(text: str) -> str:
    try:
        return datetime.fromtimestamp(ssl.cert_time_to_seconds(text), UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


def tls_words(error: ssl.SSLError, host: str) -> str:
    """Say in plain words what is wrong with TLS at a host."""
    if isinstance(error, ssl.SSLCertVerificationError):
        words = _CERTIFICATE.get(error.verify_code, f"cannot be verified: {error.verify_message}")
        return f"the certificate of {host} {words}"
    reason = error.reason or ""
    for key, words in _REASONS.items():
        if reason.endswith(key):
            return f"{host} {words}"
    return f"TLS with {host} failed: {reason.replace('_', ' ').lower() or 'no reason given'}"


class _EncryptedKeyError(Exception):
    pass


def _no_password() -> bytes:
    # Without this OpenSSL would ask on the terminal, and a nightly job would wait for ever.
    raise _EncryptedKeyError


def _why(error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        return (error.reason or "unreadable").replace("_", " ").lower()
    return error.strerror or "unreadable"
