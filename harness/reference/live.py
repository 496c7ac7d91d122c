"""How to see a rule fail with one's own eyes: a seller with the fault, and the run that judges it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator

from pytest_adcp.harness.demo import FOR_APPS
from pytest_adcp.harness.library.limits import FILE as AT_THE_LIMIT
from pytest_adcp.harness.rules import Profile, Rule
from pytest_adcp.harness.seller import options
from pytest_adcp.harness.seller.faults import Fault
from pytest_adcp.harness.seller.options import SellerOptions
from pytest_adcp.harness.settings import DEMO_ACCOUNT
from pytest_adcp.harness.text import plural

from .examples import Example

WHOLE = "python tests/generate_rules.py --whole"  # in the repository
REPORT = "adcp-report/transcript.jsonl"
_OF_THE_APP = ("third_party", "verification")  # members of AppRequest that faults ask for
_PORT = 8765
_TOKEN = "SELLER_TOKEN"  # noqa: S105 - the name of a variable


def whole(rule: Rule, example: Example) -> str:
    """Say how long an answer is that is not shown whole, and where all of it is; empty where nothing was left out."""
    if not any("…" in line for line in (*example.request, *example.response)):
        return ""
    left = f"… stands for what was left out; the answer has {plural(example.size, 'character')}"
    if rule.profile is Profile.CLIENT:
        file, _, vector = example.subject.partition("/")
        if file == AT_THE_LIMIT:
            return f"{left}: the whole is built for the limit that a library declares"
        return f"{left}: the whole is {vector} in vectors/{file}.json"
    if example.outcome == "passed" or not example.fault:
        return f"{left}: the whole comes with {WHOLE} {rule.id}"
    return f'{left}: what stands under "See it fail" writes the whole into {REPORT}'


def commands(rule: Rule, fault: Fault | None) -> Iterator[str]:
    """Yield shell commands that show a rule at work; a comment line says what else it needs."""
    if rule.profile is Profile.CLIENT:
        yield "pytest --adcp-profile=client --adcp-extractor=MODULE:FUNCTION"
        return
    if fault is None:
        return
    seller = ["python -m pytest_adcp.harness.seller", f"--fault {fault.name}"]
    # What a fault needs goes before what the seller's options say.
    served = SellerOptions(**{**(options.FOR_APPS if fault.is_for_apps else {}), **fault.needs})
    run = [f"pytest --server-url=http://127.0.0.1:{_PORT}{served.path}"]
    if fault.is_for_apps:
        seller += FOR_APPS
        run.append("--adcp-profile=connected-apps")
    if bearer := fault.needs.get("bearer"):
        yield f"export {_TOKEN}={bearer}"
        run.append(f"--adcp-bearer-env={_TOKEN}")
    if fault.mutates:
        run += ["--adcp-allow-mutating", f"--adcp-sandbox-account={shlex.quote(json.dumps(DEMO_ACCOUNT))}"]
    if fault.production:
        run.append("--adcp-production")
    config = [f"calls: {json.dumps([dict(call) for call in fault.calls])}"] if fault.calls else []
    config += [
        f"connected_apps: {{{name}: true}}"
        for name in _OF_THE_APP
        if getattr(fault.asks.get("app"), name, False)
    ]
    if config:
        run.append("--adcp-config=adcp.yaml")
        yield f"# in adcp.yaml:  {', '.join(config)}"
    if rule.id in fault.fails_schema:
        yield "# with AdCP's schemas:  pip install 'pytest-adcp[schemas]'"
    if fault.interop:
        yield "# with the official client:  pip install 'pytest-adcp[interop]'"
    if fault.ends_survey:
        yield f"# the run ends at this, so it says the cause in place of {rule.id}"
    yield f"{' '.join(seller)} &"
    yield " ".join(run)
