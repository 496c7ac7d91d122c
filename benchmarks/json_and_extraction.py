"""How much slower our JSON reader is than json.loads, and extraction than the reader, on a 4 MiB get_products answer.

Run it as `python benchmarks/json_and_extraction.py`. It fails when a ratio is over its bound. Both sides of a ratio are
timed in turn in CPU time, and the best of all rounds counts, so that a busy machine slows both alike.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from typing import Any

from pytest_adcp.harness.extraction import extract_success
from pytest_adcp.harness.jsontext import parse

SIZE = 4 * 1024 * 1024
ROUNDS = 15
PARSE_BOUND = 3.0  # parse / json.loads
EXTRACTION_BOUND = 1.3  # extract_success / parse


def product(number: int, rng: random.Random) -> dict[str, Any]:
    return {
        "product_id": f"ctv_{number:06d}",
        "name": f"Premium CTV package {number}",
        "description": "Connected TV across news, sports & entertainment — brand safe, third-party measured 📺",
        "publisher_properties": [{"publisher_domain": "publisher.example", "property_tags": ["ctv", "news"]}],
        "format_ids": [{"agent_url": "https://creative.example/", "id": f"video_{s}s"} for s in (15, 30)],
        "delivery_type": "guaranteed",
        "pricing_options": [
            {
                "pricing_option_id": "p1",
                "pricing_model": "cpm",
                "currency": "USD",
                "fixed_price": rng.randrange(500, 5000) / 100,
            }
        ],
        "forecast": {
            "points": [
                {
                    "budget": budget,
                    "metrics": {
                        "impressions": {"low": budget * 20, "mid": budget * 25},
                        "reach": rng.random() * 1e5,
                    },
                }
                for budget in (1000, 5000, 10000)
            ]
        },
        "reporting_capabilities": {
            "expected_delay_minutes": 240,
            "timezone": "UTC",
            "supports_webhooks": False,
        },
        "ext": None,
    }


def payload(*, ascii_only: bool) -> str:
    """A text of a little under 4 MiB, counted in UTF-16 units; with ascii_only everything else is escaped."""
    rng = random.Random(1)
    one = len(json.dumps(product(0, rng), ensure_ascii=ascii_only, separators=(",", ":")))
    products = [product(number, rng) for number in range(int(SIZE / (one + 12)))]
    return json.dumps({"products": products}, ensure_ascii=ascii_only, separators=(",", ":"))


def best(*functions: Callable[[], object]) -> list[float]:
    seconds = [float("inf")] * len(functions)
    for _ in range(ROUNDS):
        for index, function in enumerate(functions):
            start = time.process_time()
            function()
            seconds[index] = min(seconds[index], time.process_time() - start)
    return seconds


def main() -> int:
    slow = False
    for title, ascii_only in (("escaped", True), ("UTF-8", False)):
        text = payload(ascii_only=ascii_only)
        result = {"content": [{"type": "text", "text": text}]}
        loads, parsed, extracted = best(
            lambda text=text: json.loads(text),
            lambda text=text: parse(text),
            lambda result=result: extract_success(result),
        )
        assert extract_success(result).data == json.loads(text)
        print(f"{title}: {len(text):,} characters")
        for name, ratio, bound, seconds in (
            ("parse / json.loads", parsed / loads, PARSE_BOUND, parsed),
            ("extract_success / parse", extracted / parsed, EXTRACTION_BOUND, extracted),
        ):
            slow = slow or ratio > bound
            print(f"  {name:24} {ratio:5.2f}  (at most {bound}; {seconds * 1000:.0f} ms)")
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
