"""Named faults, each of which changes one thing about the conforming seller."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Mapping
from types import MappingProxyType

from . import (
    app_errors,
    app_instructions,
    app_oauth,
    app_parameters,
    app_results,
    app_texts,
    app_tools,
    app_transport,
    app_views,
    authentication,
    behaviour,
    definitions,
    discovery,
    envelopes,
    error_objects,
    events,
    failures,
    http,
    interop,
    leaks,
    legal,
    lifecycle,
    messages,
    modern,
    parameter_headers,
    payloads,
    repeats,
    results,
    schemas,
    sessions,
    stateless,
    streams,
    subscriptions,
    transport,
    versions,
)
from .model import Fault, UnknownFaultError

__all__ = ["Fault", "UnknownFaultError", "fault_named", "faults"]

MODULES = (
    payloads,
    schemas,
    results,
    definitions,
    interop,
    failures,
    error_objects,
    envelopes,
    discovery,
    versions,
    leaks,
    behaviour,
    repeats,
    messages,
    lifecycle,
    http,
    sessions,
    authentication,
    streams,
    events,
    stateless,
    modern,
    parameter_headers,
    subscriptions,
    transport,
    app_instructions,
    app_tools,
    app_parameters,
    app_texts,
    app_transport,
    app_oauth,
    app_results,
    app_errors,
    app_views,
    legal,
)


@functools.cache
def faults() -> Mapping[str, Fault]:
    """Return every fault by its name."""
    return MappingProxyType({fault.name: fault for module in MODULES for fault in module.FAULTS})


def fault_named(name: str) -> Fault:
    """Return one fault.

    Raises:
        UnknownFaultError: there is none of that name.
    """
    try:
        return faults()[name]
    except KeyError:
        near = difflib.get_close_matches(name, faults())
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise UnknownFaultError(f"there is no fault {name!r}{hint}") from None
