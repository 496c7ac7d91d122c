"""How long it takes to make the schemas of one task ready, and to judge a get_products answer of 1 MB.

    python benchmarks/schemas.py [--schemas DIR] [--rounds 5]

The schemas are those in DIR, in the folder that ADCP_TEST_SCHEMAS names, or of the adcp package.

For each release at hand: the closure of get_products' schema read and compiled from nothing, then an answer of 1 MB
judged after one warm-up; it is the reference seller's own, its products repeated. Further, without a bound, the same
answer with one mistake in every product. All is CPU time (one thread does it), the best of all rounds counts, and the
exit code is 1 when a bound is broken.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_adcp.harness.schema_bundle import Bundle, find_bundle
from pytest_adcp.harness.schemas import Kind, Validators
from pytest_adcp.harness.seller import catalogue

READY, JUDGED = 150, 30  # milliseconds
SIZE = 1_000_000
TASK = "get_products"


def answer(release: str) -> dict[str, Any]:
    """Return a valid answer of 1 MB."""
    products = list(catalogue.PRODUCTS.values())
    payload = {"status": "completed", "adcp_version": release, "cache_scope": "public", "products": products}
    copies = -(-SIZE // len(json.dumps(products)))
    text = json.dumps({**payload, "products": products * copies})
    found: dict[str, Any] = json.loads(text)  # every product an object of its own, as they come
    return found


def best(rounds: int, work: Callable[[], object]) -> float:
    """Return the milliseconds of CPU of the cheapest round."""
    times = []
    for _ in range(rounds):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return 1000 * min(times)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--schemas", type=Path, default=os.environ.get("ADCP_TEST_SCHEMAS"))
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    bundle = find_bundle(options.schemas)
    if bundle is None:
        print("no schemas are at hand: install the adcp package, or pass --schemas DIR", file=sys.stderr)
        return 1
    kept = [measured(bundle, release, options.rounds) for release in bundle.releases]
    return int(not all(kept))


def measured(bundle: Bundle, release: str, rounds: int) -> bool:
    """Measure and print; return whether the bounds hold."""
    ready = best(rounds, lambda: Validators(bundle).for_task(release, TASK, Kind.RESPONSE))
    validator = Validators(bundle).for_task(release, TASK, Kind.RESPONSE)
    good, bad = answer(release), answer(release)
    for product in bad["products"]:
        del product["name"]
    if problems := validator.problems(good).shown:
        raise RuntimeError(f"the answer is not valid: {problems[0].text}")
    judged = best(rounds, lambda: validator.problems(good))
    explained = best(1, lambda: validator.problems(bad))
    print(f"AdCP {release} {TASK} ready  {ready:.0f} ms  (at most {READY})")
    print(f"AdCP {release} 1 MB judged  {judged:.1f} ms  (at most {JUDGED})")
    print(
        f"AdCP {release} 1 MB with a mistake in each of {len(bad['products'])} products: {explained:.0f} ms"
    )
    return ready <= READY and judged <= JUDGED


if __name__ == "__main__":
    sys.exit(main())
