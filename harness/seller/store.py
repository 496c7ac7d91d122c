"""What the seller remembers: accounts, media buys, creatives and tasks, all in memory and bounded."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Generic, TypeVar

from .rpc import Json

MAX_RECORDS = 1000

Record = TypeVar("Record")


class Shelf(OrderedDict[str, Record], Generic[Record]):
    """Records by id; beyond MAX_RECORDS the oldest makes room, so that nobody can fill the memory."""

    def __setitem__(self, key: str, value: Record) -> None:
        super().__setitem__(key, value)
        if len(self) > MAX_RECORDS:
            self.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Account:
    """A sandbox account; there are no others."""

    account_id: str
    name: str
    brand: str
    operator: str


@dataclass(slots=True)
class MediaBuy:
    """A booked campaign. `packages` are in the wire's form; money is in `currency`."""

    media_buy_id: str
    account_id: str
    packages: list[Json]
    start: datetime
    end: datetime
    confirmed_at: datetime
    currency: str = "USD"
    revision: int = 1
    paused: bool = False
    canceled: bool = False
    impressions: int = 0  # delivered so far
    spend: float = 0.0

    def status(self, now: datetime) -> str:
        """Return the media-buy-status of AdCP."""
        if self.canceled:
            return "canceled"
        if now >= self.end:
            return "completed"
        if self.paused:
            return "paused"
        if not any(package.get("creative_assignments") for package in self.packages):
            return "pending_creatives"
        return "active" if now >= self.start else "pending_start"

    @property
    def budget(self) -> float:
        """The sum of the packages' budgets."""
        return float(sum(package.get("budget", 0) for package in self.packages))


@dataclass(slots=True)
class Creative:
    """A creative of the library."""

    creative_id: str
    account_id: str
    name: str
    format_id: Json
    assets: Json
    created: datetime
    updated: datetime


@dataclass(slots=True)
class PendingTask:
    """A submitted operation. `polls` counts the times its status was asked for."""

    task_id: str
    task_type: str
    created: datetime
    updated: datetime
    finish: Callable[[datetime], Json]  # does the work and returns the result
    polls: int = 0
    result: Json | None = None


@dataclass(slots=True)
class Store:
    """The seller's memory, empty to begin with."""

    accounts: Shelf[Account] = field(default_factory=Shelf)
    media_buys: Shelf[MediaBuy] = field(default_factory=Shelf)
    creatives: Shelf[Creative] = field(default_factory=Shelf)
    tasks: Shelf[PendingTask] = field(default_factory=Shelf)
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1001))

    def new_id(self, prefix: str) -> str:
        """Return an id that this store has not given before."""
        return f"{prefix}_{next(self._numbers)}"

    def find_account(self, reference: object) -> Account | None:
        """Return the account an AccountReference names, or None."""
        if not isinstance(reference, dict):
            return None
        if isinstance(account_id := reference.get("account_id"), str):
            return self.accounts.get(account_id)
        brand, operator = _natural_key(reference)
        return next(
            (one for one in self.accounts.values() if (one.brand, one.operator) == (brand, operator)), None
        )

    def open_account(self, reference: Json) -> Account | None:
        """Return the account of a reference, opening it where it is a sandbox one; None for all others."""
        found = self.find_account(reference)
        if found is not None and ("account_id" in reference or reference.get("sandbox") is True):
            return found
        brand, operator = _natural_key(reference)
        if reference.get("sandbox") is not True or brand is None or operator is None:
            return None
        account = Account(self.new_id("acct"), f"{brand} (sandbox)", brand, operator)
        self.accounts[account.account_id] = account
        return account


def _natural_key(reference: Json) -> tuple[str | None, str | None]:
    brand, operator = reference.get("brand"), reference.get("operator")
    domain = brand.get("domain") if isinstance(brand, dict) else None
    return domain if isinstance(domain, str) else None, operator if isinstance(operator, str) else None


def rfc3339(moment: datetime) -> str:
    """Write a moment as AdCP wants it: with an offset."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
