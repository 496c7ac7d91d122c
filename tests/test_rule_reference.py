"""The rule reference is whole, is what the rules and the reference seller give, and can be read in a terminal."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from datetime import date
from pathlib import Path

import client_examples
import pytest
import yaml
from bundle import WHY_SKIPPED
from excerpts import LINES, outline
from generate_rules import DOCS, main
from leniency import leniencies
from pytest_adcp.harness.catalogue import all_rules
from pytest_adcp.harness.diagnosis import NO_LEGACY
from pytest_adcp.harness.evidence import Evidence
from pytest_adcp.harness.explain import explain
from pytest_adcp.harness.interop.process import why_not
from pytest_adcp.harness.library.limits import FILE as AT_THE_LIMIT
from pytest_adcp.harness.library.records import Question
from pytest_adcp.harness.library.reference import ReferenceLibrary
from pytest_adcp.harness.options import OPTIONS
from pytest_adcp.harness.plan import AppRequest
from pytest_adcp.harness.reference import examples
from pytest_adcp.harness.reference.examples import Example, ExamplesError, Pair, of_family, of_rule
from pytest_adcp.harness.reference.explained import baseline_lines, explained
from pytest_adcp.harness.reference.live import commands
from pytest_adcp.harness.reference.words import WORDS
from pytest_adcp.harness.rules import Judged, Level, Profile, Rule
from pytest_adcp.harness.seller.__main__ import _parser
from pytest_adcp.harness.seller.faults import Fault, faults
from pytest_adcp.harness.seller.options import FOR_APPS
from pytest_adcp.harness.settings import DEMO_ACCOUNT
from pytest_adcp.harness.text import safe
from pytest_adcp.harness.transcript import Transcript
from pytest_adcp.harness.verdict import Outcome, judge
from pytest_adcp.suites.client.compare import shown
from pytest_adcp.vectors.loader import Kind, own
from rule_examples import ONLY_WITH, Recorder, fault_for, stored
from rule_pages import pages, plain
from rule_recordings import FOLDER, can_be_judged, name_of
from rule_recordings import of_family as recorded_of_family

RULES = {rule.id: rule for rule in all_rules()}
SERVERS = [rule for rule in RULES.values() if rule.profile is not Profile.CLIENT]
TODAY = date(2026, 1, 1)
HOW_TO = "run `python tests/generate_rules.py`, with --refresh RULE where examples have changed"
# Of the recorded examples these are recorded again in each run of the tests; all of them take minutes.
SAMPLE = 6
_BY_HASH = sorted(RULES, key=lambda name: hashlib.sha256(name.encode()).hexdigest())


def pair_of(rule: Rule) -> Pair:
    pair = of_rule(rule.family, rule.id)
    assert pair is not None, f"{rule.id} has no examples: python tests/generate_rules.py --refresh {rule.id}"
    return pair


def both(rule: Rule) -> list[Example]:
    pair = pair_of(rule)
    return [pair.fails, pair.passes]


# -- nothing is missing or stale -----------------------------------------------------------------------------------


def test_the_pages_are_those_of_the_rules() -> None:
    made = pages()
    written = {path.name: path.read_text(encoding="utf-8") for path in DOCS.glob("*.md")}
    assert set(written) == set(made), HOW_TO
    stale = [name for name in made if made[name] != written[name]]
    assert not stale, HOW_TO


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_a_rule_has_an_example_that_fails_and_one_that_passes(rule: Rule) -> None:
    pair = pair_of(rule)
    assert pair.lenient == leniencies(rule)
    assert pair.fails.outcome == ("failed" if rule.level is Level.MUST else "advisory") or pair.lenient
    assert pair.fails.message
    assert pair.fails.expected
    assert pair.fails.response
    assert pair.passes.outcome == "passed"
    assert pair.passes.response
    assert pair.fails.response != pair.passes.response or pair.passes.request


@pytest.mark.parametrize("rule", SERVERS, ids=lambda rule: rule.id)
def test_the_recorded_bytes_break_and_keep_the_rule(rule: Rule) -> None:
    """The rule is tried on the bytes of both examples, and what is shown of them is what they hold."""
    if not can_be_judged(rule):
        pytest.skip(WHY_SKIPPED)
    two = stored(rule, pair_of(rule))
    assert not two.clean.of(rule, Outcome.FAILED, Outcome.ADVISORY)
    assert two.pair == pair_of(rule), HOW_TO


def test_an_example_that_passes_comes_from_a_seller_that_conforms() -> None:
    beside = {}
    for rule in SERVERS:
        if name := pair_of(rule).passes.fault:
            fault = faults()[name]
            assert not fault.fails | fault.fails_schema
            if not fault.is_legal:
                beside[rule.id] = name
    assert beside == ONLY_WITH


def test_what_ends_a_survey_is_told_beside_the_commands() -> None:
    for rule in SERVERS:
        pair = pair_of(rule)
        ends = stored(rule, pair).faulty.transcript.survey.unusable is not None
        told = any(line.startswith("# the run ends at this") for line in commands(rule, fault_for(rule)))
        assert told is (ends and rule.id != NO_LEGACY), rule.id  # which is judged of such a server too


def test_the_generated_answer_is_read_otherwise_by_the_faulty_library() -> None:
    pair = pair_of(RULES["client.fuzz.agrees"])
    library, right = client_examples.FAULTY["client.fuzz.agrees"].library, ReferenceLibrary()
    question = Question(Kind.SUCCESS, response="".join(pair.fails.request))
    assert shown(next(iter(library.ask([question])))) == pair.fails.response[0] == pair.fails.received
    assert shown(next(iter(right.ask([question])))) == pair.passes.response[0] == pair.fails.expected


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_the_faults_of_the_examples_are_there(rule: Rule) -> None:
    for example in both(rule):
        if example.fault:
            fault = faults()[example.fault]
            broken = rule.id in fault.fails | fault.advises | fault.fails_schema
            assert broken is (example.outcome != "passed")
            assert example.how == fault.says, HOW_TO
    if rule.profile is not Profile.CLIENT:
        assert pair_of(rule).fails.fault == getattr(fault_for(rule), "name", ""), HOW_TO


def test_the_files_hold_the_rules_of_their_family_and_no_others() -> None:
    for path in examples.FOLDER.glob("*.json"):
        assert list(of_family(path.stem)) == [
            name for name, rule in RULES.items() if rule.family == path.stem
        ]
        assert path.stat().st_size < 300_000


def test_examples_hold_nothing_of_the_machine_that_they_were_recorded_on() -> None:
    foreign = re.compile(
        r"127\.0\.0\.1:(?!8765\b)\d{5}|localhost:\d{5}|pytest-of-|python3?[./]?\d\.\d+\.\d+|/tmp/|/home/|/root/|site-packages/pytest"
        f"|{re.escape(str(Path(__file__).parents[1]))}"
    )
    for path in [*examples.FOLDER.glob("*.json"), *DOCS.glob("*.md")]:
        assert not (found := foreign.search(path.read_text(encoding="utf-8"))), (path.name, found)


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_examples_are_short_and_safe(rule: Rule) -> None:
    for example in both(rule):
        for lines in (example.request, example.response):
            head = lines.index("") if "" in lines else 0
            assert len(lines) - head <= LINES + 4
            assert all(line == safe(line, 1_000) for line in lines)


_SERVERS = [
    name
    for name in _BY_HASH
    if (fault := fault_for(RULES[name]))
    and can_be_judged(RULES[name])
    and not (fault.interop and why_not())
    and RULES[name].judged is not Judged.LISTENING  # recorded with several calls at a time, in no order
]


@pytest.mark.parametrize("name", _SERVERS[:SAMPLE])
def test_a_recorded_example_is_what_the_seller_gives(name: str) -> None:
    assert Recorder().two(RULES[name]).pair == pair_of(RULES[name]), HOW_TO


@pytest.mark.parametrize("name", sorted(client_examples.QUICK))
def test_the_example_of_a_client_rule_is_what_the_library_gives(name: str) -> None:
    assert client_examples.pair(RULES[name]) == pair_of(RULES[name]), HOW_TO


def test_every_word_is_there() -> None:
    assert set(WORDS) == set(Judged)


# -- in a terminal -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [60, 100])
@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_an_explanation_fits(rule: Rule, width: int) -> None:
    text = list(explained(rule, width, TODAY))
    assert text[0] == f"{rule.id} ({rule.level})"
    copied = ("http", "pytest ", "python -m", "export ", "#", "  at ", "judged")
    entry = next(n for n, line in enumerate(text) if line.startswith("Known, and to be mended later? "))
    for line in text[:entry]:
        assert (
            len(line) <= width
            or line.strip().startswith(copied)
            or " " not in line[14:].strip()
            or "http" in line
        )
        assert line == safe(line, 10_000)


def test_an_explanation_has_all_parts() -> None:
    text = explain("adcp.errors.flagged", 80, TODAY, all_rules())
    for part in (
        "judged",
        "fix",
        "https://",
        "Fails: ",
        "Passes: ",
        "isError",
        "> POST /mcp",
        "< HTTP/1.1 200",
    ):
        assert part in text, part
    assert "python -m pytest_adcp.harness.seller --fault error-unflagged &" in text
    assert "expires: 2026-04-01" in text


def test_a_family_is_listed() -> None:
    for name in ("adcp.errors", "adcp.errors.", "adcp.errors.*"):
        lines = explain(name, 80, TODAY, all_rules()).splitlines()
        assert len(lines) == sum(rule.family == "adcp.errors" for rule in RULES.values())
        assert max(map(len, lines)) <= 80


def test_several_are_explained() -> None:
    text = explain("mcp.tools.names, adcp.schema", 80, TODAY, all_rules())
    assert text.startswith("mcp.tools.names (SHOULD)")
    assert "adcp.schema.response" in text


@pytest.mark.parametrize(
    ("name", "near"), [("adcp.errors.flaged", "adcp.errors.flagged"), ("adcp.eror", "adcp.errors")]
)
def test_what_is_no_rule_names_the_nearest(name: str, near: str) -> None:
    with pytest.raises(pytest.UsageError, match=f"did you mean .*{re.escape(near)}"):
        explain(name, 80, TODAY, all_rules())


def test_a_rule_of_an_extra_suite_has_no_examples() -> None:
    def judge(reply: object) -> None:
        """A rule of somebody's own."""

    own = Rule(
        "own.family.rule", Level.MUST, Judged.REPLY, "https://x.example", "It holds.", "Mend it.", judge
    )
    text = "\n".join(explained(own, 80, TODAY))
    assert "It holds." in text
    assert "Fails" not in text


def test_a_damaged_file_says_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examples, "FOLDER", tmp_path)
    (tmp_path / "own.damaged.json").write_text(
        '{"format": 1, "rules": {"own.damaged.rule": {"fails": null}}}'
    )
    with pytest.raises(ExamplesError, match=r"own\.damaged\.json: own\.damaged\.rule has no passes"):
        of_family("own.damaged")


# -- what it tells to do -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_the_commands_are_ones(rule: Rule) -> None:
    flags = {f"--adcp-{option.name}" for option in OPTIONS} | {"--server-url"}
    for line in commands(rule, fault_for(rule)):
        if line.startswith(("#", "export ")):
            continue
        words = shlex.split(line.removesuffix(" &"))
        if words[:2] == ["python", "-m"]:
            assert _parser().parse_args(words[3:]).fault == fault_for(rule).name  # type: ignore[union-attr]
        else:
            assert words[0] == "pytest"
            assert {word.partition("=")[0] for word in words[1:]} <= flags


@pytest.mark.parametrize(
    "fault",
    {fault.name: fault for rule in SERVERS if (fault := fault_for(rule))}.values(),
    ids=lambda it: it.name,
)
def test_the_commands_ask_what_the_examples_were_made_with(fault: Fault) -> None:
    """What rule_recordings.record() asks of a seller with the fault is what the command asks."""
    rule = next(rule for rule in SERVERS if fault_for(rule) is fault)
    *before, seller, run = commands(rule, fault)
    served = _parser().parse_args(shlex.split(seller.removesuffix(" &"))[3:])
    asked = dict(word.partition("=")[::2] for word in shlex.split(run)[1:])
    config = yaml.safe_load(
        "\n".join(line.removeprefix("# in adcp.yaml:").strip() for line in before if "adcp.yaml" in line)
    )
    config = config or {}
    assert served.fault == fault.name
    assert (served.path, served.json_text) == (
        (FOR_APPS["path"], FOR_APPS["json_text"]) if fault.is_for_apps else ("/mcp", False)
    )
    path = fault.needs.get("path", served.path)  # what a fault needs goes before the seller's options
    assert asked["--server-url"] == f"http://127.0.0.1:8765{path}"
    assert asked.get("--adcp-profile") == ("connected-apps" if fault.is_for_apps else None)
    assert ("--adcp-allow-mutating" in asked) is fault.mutates
    assert ("--adcp-production" in asked) is fault.production
    if fault.mutates:
        assert json.loads(asked["--adcp-sandbox-account"]) == DEMO_ACCOUNT
    bearer = asked.get("--adcp-bearer-env")
    token = fault.needs.get("bearer")
    assert (bearer is not None) is (token is not None)
    exported = [line for line in before if line.startswith("export")]
    assert exported == ([f"export {bearer}={token}"] if token else [])
    assert ("--adcp-config" in asked) is bool(config)
    assert config.get("calls", []) == [dict(call) for call in fault.calls]
    app = fault.asks.get("app", AppRequest())
    assert AppRequest(**config.get("connected_apps", {})) == app
    assert any("interop" in line for line in before) is fault.interop


def test_code_in_words_is_code_on_the_pages() -> None:
    assert plain("Set `a_b` and x_y.") == "Set `a_b` and x\\_y."
    assert plain("One ` alone_") == "One `` ` `` alone\\_"
    made = "".join(pages().values())
    assert "\\`" not in made


def test_what_was_left_out_is_told_with_where_it_is() -> None:
    told = {"server": 'what stands under "See it fail" writes the whole', "library": "the whole is "}
    for rule in RULES.values():
        text = " ".join(" ".join(explained(rule, 100, TODAY)).split())
        cut = [e for e in both(rule) if any("…" in line for line in (*e.response, *e.request))]
        assert text.count("… stands for what was left out") == len(cut), rule.id
        if pair_of(rule).fails in cut and pair_of(rule).fails.fault:
            assert told["server"] in text, rule.id
        if cut and rule.profile is Profile.CLIENT:
            assert told["library"] in text, rule.id
            file, _, vector = cut[0].subject.partition("/")
            if file == AT_THE_LIMIT:
                continue
            assert any(v.id == vector and Path(v.file).stem == file for v in own()), rule.id


def test_the_entry_of_a_baseline_is_yaml() -> None:
    rule = RULES["adcp.errors.flagged"]
    subject = 'a "quoted" \\ subject'
    read = yaml.safe_load("\n".join(baseline_lines(rule, subject, TODAY)))
    assert read["known"] == {
        rule.id: {subject: {"reason": "who mends it, and where that is tracked", "expires": date(2026, 4, 1)}}
    }


def test_recordings_are_of_the_rules_and_of_no_others() -> None:
    kept = {
        path.name: list(recorded_of_family(path.name.removesuffix(".tar.xz"))) for path in FOLDER.iterdir()
    }
    wanted: dict[str, list[str]] = {}
    for rule in SERVERS:
        wanted.setdefault(f"{rule.family}.tar.xz", []).extend(
            name_of(rule.id, side) for side in ("fails", "passes")
        )
    assert kept == wanted


def test_a_recording_can_be_written_and_judged_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["--whole", "adcp.errors.flagged"]) == 0
    rule = RULES["adcp.errors.flagged"]
    found = {}
    for name in capsys.readouterr().out.split():
        evidence = Evidence(Transcript.load(tmp_path / name))
        found[name] = {judge(rule, entry).outcome for entry in evidence.of(rule)}
    assert found == {
        "adcp.errors.flagged.fails.jsonl": {Outcome.FAILED},
        "adcp.errors.flagged.passes.jsonl": {Outcome.PASSED},
    }
    with pytest.raises(SystemExit):
        main(["--whole", "adcp.errors.flaged"])


# -- how it is made ------------------------------------------------------------------------------------------------


def test_nothing_is_recorded_for_what_is_no_rule(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--refresh", "adcp.nothing"])
    assert "no rule matches adcp.nothing" in capsys.readouterr().err


def test_an_outline_shows_the_place_and_is_bounded() -> None:
    deep = {"a": {"b": {"c": [{"d": list(range(100))}, {"d": 2, "e": "x" * 500}]}}, "z": list(range(100))}
    lines = outline(deep, [("a", "b", "c", "1", "e")])
    assert lines[0] == "… at /a/b/c/1:"
    assert '  "d": 2,' in lines
    assert len(lines) <= LINES
    assert max(map(len, lines)) < 320
    assert outline({"a": 1}, [("b",)]) == ['{"a": 1}']
    assert (
        len(outline({str(i): {str(j): j for j in range(50)} for i in range(50)}, [("3", "4"), ("5", "6")]))
        <= LINES
    )
