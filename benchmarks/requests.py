"""How many requests a survey sends to a seller with six tools, mutating tasks allowed, by kind.

    python benchmarks/requests.py

The reference seller asks for a token, so that credentials that are none are tried as well. The exit code is 1 when there are
more than 120 requests, those of the official client (mcp.interop) not counted.
"""

from __future__ import annotations

import sys
from collections import Counter

import anyio
from pytest_adcp.harness.calls import PlannedCall
from pytest_adcp.harness.plan import PlanRequest
from pytest_adcp.harness.seller import SellerOptions, running
from pytest_adcp.harness.settings import DEMO_ACCOUNT
from pytest_adcp.harness.survey import Order, Surveyor
from pytest_adcp.harness.target import Credentials, Target
from pytest_adcp.harness.transcript import Exchange, Kind, Limits, Transcript
from pytest_adcp.harness.wire import Connection

MOST = 120
TOKEN = "token-of-the-requests-benchmark"
TOOLS = (
    "get_adcp_capabilities",
    "get_products",
    "list_creative_formats",
    "list_creatives",
    "create_media_buy",
    "get_media_buys",
)


def survey() -> Transcript:
    """Survey the reference seller as if it had these tools only."""
    request = PlanRequest(tools=TOOLS, interop=True, allow_mutating=True, sandbox_account=DEMO_ACCOUNT)
    with running(SellerOptions(bearer=TOKEN)) as url:
        target = Target.parse(url, credentials=Credentials(bearer=TOKEN))
        surveyor = Surveyor(Order(target, Connection(), Limits(), request))
        anyio.run(surveyor.run)
    transcript = surveyor.transcript()
    assert transcript.survey.complete
    assert {call.tool for call in transcript.survey.calls} == set(TOOLS)
    return transcript


def kind(exchange: Exchange, calls: dict[str, PlannedCall]) -> str:
    """Return what an exchange was for: a call by its purpose, all else by its kind."""
    call = calls.get(exchange.subject)
    return f"{exchange.kind}, {call.purpose}" if call else str(exchange.kind)


def main() -> int:
    transcript = survey()
    calls = {call.subject: call for call in transcript.survey.calls}
    kinds = Counter(kind(exchange, calls) for exchange in transcript.exchanges)
    total = sum(kinds.values()) - kinds[str(Kind.INTEROP)]
    print(f"requests, six tools  {total}  (at most {MOST})")
    for name, number in kinds.most_common():
        print(f"    {name}: {number}")
    return int(total > MOST)


if __name__ == "__main__":
    sys.exit(main())
