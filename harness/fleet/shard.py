"""A part of a fleet, for runs on several machines."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Self

from pytest_adcp.harness.text import quote

MOST = 1000  # parts


@dataclass(frozen=True, slots=True)
class Shard:
    """One of `count` parts, numbered from 0 as CI matrices and indexed Kubernetes Jobs number theirs."""

    index: int
    count: int

    @classmethod
    def parse(cls, text: object) -> Self:
        """Return the shard that I/N names.

        Raises:
            ValueError: it is none; the text reads on after the option's name.
        """
        match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", str(text))
        if match is None:
            raise ValueError(f"must be I/N, such as 0/4, not {quote(text, 40)}")
        index, count = int(match[1]), int(match[2])
        if not 1 <= count <= MOST:
            raise ValueError(f"must have 1 to {MOST} parts, not {count}")
        if index >= count:
            raise ValueError(
                f"must be one of 0/{count} to {count - 1}/{count} (parts count from 0), not {index}/{count}"
            )
        return cls(index, count)

    def takes(self, name: str) -> bool:
        """Whether a target belongs to this part: by its name alone, whatever else is in the list."""
        number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
        return number % self.count == self.index

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"
