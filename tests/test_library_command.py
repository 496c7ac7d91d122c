"""Libraries behind commands: asked, survived, and told what they did."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pytest_adcp.harness import library
from pytest_adcp.harness.library import command as module
from pytest_adcp.harness.library import messages, process
from pytest_adcp.harness.library.command import CommandLibrary, LibraryError
from pytest_adcp.harness.library.records import (
    Answer,
    Asks,
    Call,
    Declared,
    Extracted,
    Limit,
    NoAnswer,
    Question,
    Threw,
    Unit,
)
from pytest_adcp.vectors.loader import Kind, Transport

SCHEMA = Draft202012Validator(
    json.loads(Path(library.__file__).with_name("protocol.schema.json").read_text(encoding="utf-8"))
)
GREETING = """
import json, os, sys, time
def say(**message):
    sys.stdout.write(json.dumps(message) + "\\n"); sys.stdout.flush()
hello = json.loads(sys.stdin.readline())
"""
LOOP = """
for line in sys.stdin:
    request = json.loads(line)
    number, response = request["id"], request["response"]
"""
HANDSHAKE = GREETING + 'say(adcp_extractor=1, name="lib", version="1.2")\n'
ECHO = "    say(id=number, data=json.loads(response))\n"
Start = Callable[..., CommandLibrary]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a script as a library; all are ended with the test."""
    opened: list[CommandLibrary] = []

    def begin(script: str, **options: Any) -> CommandLibrary:
        path = tmp_path / f"lib{len(opened)}.py"
        path.write_text(script, encoding="utf-8")
        made = CommandLibrary([sys.executable, str(path)], folder=tmp_path, **options)
        opened.append(made)
        return made

    yield begin
    for each in opened:
        each.close()


def questions(number: int) -> list[Question]:
    return [Question(Kind.SUCCESS, response=json.dumps({"n": index})) for index in range(number)]


def asked(lib: CommandLibrary, number: int) -> list[Answer]:
    return list(lib.ask(questions(number)))


def data(answers: list[Answer]) -> list[Any]:
    return [
        answer.data["n"] if isinstance(answer, Extracted) else type(answer).__name__ for answer in answers
    ]


class TestWell:
    def test_answers_come_in_the_order_of_the_questions(self, start: Start) -> None:
        lib = start(HANDSHAKE + LOOP + ECHO)
        assert data(asked(lib, 300)) == list(range(300))
        assert data(asked(lib, 3)) == [0, 1, 2]
        assert lib.behaviour == module.Behaviour((), ())

    def test_a_library_may_answer_in_any_order(self, start: Start) -> None:
        collects = """
pairs = []
for line in sys.stdin:
    request = json.loads(line)
    pairs.append((request["id"], request["response"]))
    if len(pairs) == 50:
        for number, response in reversed(pairs):
            say(id=number, data=json.loads(response))
        pairs = []
"""
        assert data(asked(start(HANDSHAKE + collects), 100)) == list(range(100))

    def test_what_it_declares(self, start: Start) -> None:
        declares = GREETING + (
            'say(adcp_extractor=1, name=" lib ", version="2", transports=["mcp", "a2a"], kinds=["success"], '
            'limit={"size": 1024, "unit": "bytes", "configurable": True}, more=1)\n'
        )
        assert start(declares + LOOP + ECHO).declared == Declared(
            "lib", "2", frozenset(Transport), frozenset({Kind.SUCCESS}), Limit(1024, Unit.BYTES, True)
        )
        assert start(HANDSHAKE + LOOP + ECHO).declared == Declared("lib", "1.2")

    def test_it_gets_no_credential_of_the_run(
        self, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SELLER", "Bearer s3cret-of-the-run")
        monkeypatch.setenv("OTHER", "fine")
        tells = "import os\nopen('env', 'w').write(' '.join([*os.environ, *os.environ.values()]))\n"
        start(tells + HANDSHAKE + LOOP + ECHO, secrets=["s3cret-of-the-run"])
        given = (tmp_path / "env").read_text().split()
        assert "OTHER" in given
        assert not {"SELLER", "s3cret-of-the-run"} & set(given)

    def test_what_it_is_told(self, start: Start, tmp_path: Path) -> None:
        keeps = 'open("said", "w").write(json.dumps(hello))\n'
        lib = start(
            HANDSHAKE
            + keeps
            + "for line in sys.stdin:\n    say(id=json.loads(line)['id'], data={'line': line})\n"
        )
        call = Call("http://127.0.0.1:1/v/mcp", "get_products", {"brief": "x"})
        sent = [
            Question(Kind.ERROR, Transport.A2A, '{"a": "\ud800é"}', limit=5),
            Question(Kind.SUCCESS, call=call),
        ]
        first, second = (
            json.loads(answer.data["line"]) for answer in lib.ask(sent) if isinstance(answer, Extracted)
        )
        assert first == {
            "id": 1,
            "kind": "error",
            "transport": "a2a",
            "response": '{"a": "\ud800é"}',
            "limit": 5,
        }
        assert second["call"] == {
            "url": "http://127.0.0.1:1/v/mcp",
            "tool": "get_products",
            "arguments": {"brief": "x"},
        }
        hello = json.loads((tmp_path / "said").read_text())
        assert hello["adcp_extractor"] == 1
        assert hello["asks"] == "responses"
        for message in (first, second, hello, {"id": 1, "data": None}, {"id": 1, "error": {"type": "E"}}):
            SCHEMA.validate(message)

    def test_large_questions_and_answers(self, start: Start) -> None:
        lib = start(HANDSHAKE + LOOP + ECHO)
        text = json.dumps({"n": "x" * 9_000_000})
        answers = list(lib.ask([Question(Kind.SUCCESS, response=text)] * 3))
        assert [len(answer.data["n"]) for answer in answers if isinstance(answer, Extracted)] == [
            9_000_000
        ] * 3

    def test_every_form_of_answer(self, start: Start) -> None:
        says = """
for line in sys.stdin:
    number = json.loads(line)["id"]
    say(id=number, **[
        {"data": None, "path": "none", "action": "generic_error", "retry_after": None},
        {"data": {"a": 1}, "retry_after": 2.5},
        {"error": {"type": "TooLarge", "message": "m"}},
        {"error": "TooLarge"}, {}, {"data": {}, "path": 7}, {"data": {}, "retry_after": "5"}, {"data": [1]},
    ][number - 1])
"""
        answers = asked(start(HANDSHAKE + says), 8)
        assert isinstance(answers[0], Extracted)
        assert (answers[0].data, answers[0].path, answers[0].action, answers[0].retry_after) == (
            *(None, "none", "generic_error"),
            None,
        )
        assert isinstance(answers[1], Extracted)
        assert answers[1].retry_after == 2.5
        assert answers[2] == Threw("TooLarge", "m")
        said = [answer.why if isinstance(answer, NoAnswer) else "" for answer in answers[3:7]]
        for word, why in zip(
            ("`error`", "neither data nor error", "`path`", "`retry_after`"), said, strict=True
        ):
            assert word in why
        assert isinstance(answers[7], Extracted)
        assert answers[7].data == [1]

    def test_nan_is_shown_as_what_was_extracted(self, start: Start) -> None:
        (answer,) = asked(start(HANDSHAKE + LOOP + "    say(id=number, data={'n': float('nan')})\n"), 1)
        assert isinstance(answer, Extracted)
        assert answer.data["n"] != answer.data["n"]


class TestBadly:
    def test_one_that_dies_of_a_question_is_started_anew(self, start: Start) -> None:
        dies = (
            LOOP
            + "    if json.loads(response)['n'] in (7, 90):\n        print('so it ends', file=sys.stderr); os._exit(3)\n"
            + ECHO
        )
        answers = asked(start(HANDSHAKE + dies), 120)
        assert data(answers) == [n if n not in (7, 90) else "NoAnswer" for n in range(120)]
        assert isinstance(answers[7], NoAnswer)
        assert "exit code 3" in answers[7].why
        assert "so it ends" in answers[7].why

    def test_one_that_hangs_is_ended(self, start: Start) -> None:
        hangs = LOOP + "    if json.loads(response)['n'] == 5:\n        time.sleep(600)\n" + ECHO
        begun = time.monotonic()
        answers = asked(start(HANDSHAKE + hangs, answering=0.5), 40)
        assert time.monotonic() - begun < 20
        assert data(answers) == [n if n != 5 else "NoAnswer" for n in range(40)]
        assert isinstance(answers[5], NoAnswer)
        assert "silent for 0.5 s" in answers[5].why

    def test_chatter_is_passed_over_and_told(self, start: Start) -> None:
        chatters = LOOP + "    print('\\x1b[31mdebug'); print('[1]'); print()\n" + ECHO
        lib = start("print('welcome')\n" + HANDSHAKE + chatters)
        assert data(asked(lib, 30)) == list(range(30))
        assert lib.behaviour.printed[0] == '"welcome"'
        assert len(lib.behaviour.printed) == 20
        assert all("\x1b" not in line for line in lib.behaviour.printed)

    def test_endless_chatter_counts_as_silence(self, start: Start) -> None:
        chatters = "while True:\n    print('x' * 100_000, flush=True)\n"
        begun = time.monotonic()
        answers = asked(start(HANDSHAKE + chatters, answering=0.5), 1)
        assert data(answers) == ["NoAnswer"]
        assert time.monotonic() - begun < 20

    def test_lies_are_told(self, start: Start) -> None:
        lies = LOOP + "    say(id=99_999, data={}); say(data={}); say(id='1', data={})\n" + ECHO + ECHO
        lib = start(HANDSHAKE + lies)
        assert data(asked(lib, 2)) == [0, 1]
        said = "\n".join(lib.behaviour.lies)
        assert "nobody had asked" in said
        assert "request 1 was answered again" in said

    def test_one_that_dies_of_everything_is_given_up(self, start: Start, tmp_path: Path) -> None:
        dies = 'open("lives", "a").write("x")\n' + LOOP + "    os._exit(1)\n"
        answers = asked(start(HANDSHAKE + dies), 500)
        assert data(answers) == ["NoAnswer"] * 500
        assert isinstance(answers[-1], NoAnswer)
        assert "given up after it had died 10 times" in answers[-1].why
        assert len((tmp_path / "lives").read_text()) == 10

    def test_a_line_that_is_too_long(self, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(process, "LONGEST_LINE", 1_000_000)
        (answer,) = asked(start(HANDSHAKE + LOOP + "    sys.stdout.write('x' * 10_000_000)\n" + ECHO), 1)
        assert isinstance(answer, NoAnswer)
        assert "a line of more than 1,000,000 bytes" in answer.why

    def test_one_that_is_slow_each_time_is_given_up(
        self, start: Start, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "_PATIENCE", 1.0)
        monkeypatch.setattr(module, "_PER_QUESTION", 0.0)
        lib = start(HANDSHAKE + "import time\n" + LOOP + "    time.sleep(0.25)\n" + ECHO, answering=2.0)
        answers = asked(lib, 40)
        assert 1 <= sum(isinstance(each, Extracted) for each in answers) < 10
        assert "it took too long for all of its answers together" in answers[-1].why
        assert not answers[-1].asked

    def test_answers_without_measure_are_not_kept(
        self, start: Start, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "_SPARE", 1_000_000)
        lib = start(HANDSHAKE + LOOP + "    say(id=number, data='x' * 300_000)\n")
        answers = asked(lib, 40)
        kept = [each for each in answers if isinstance(each, Extracted)]
        assert 3 <= len(kept) < 40
        lost = [each for each in answers if isinstance(each, NoAnswer)]
        assert len(lost) == 40 - len(kept)
        assert "it wrote far more than it was given to extract from" in lost[0].why

    def test_a_signal_is_named(self, start: Start) -> None:
        (answer,) = asked(start(HANDSHAKE + LOOP + "    os.kill(os.getpid(), 11)\n"), 1)
        assert isinstance(answer, NoAnswer)
        assert "SIGSEGV" in answer.why

    @pytest.mark.parametrize("of_its_own", [False, True])
    def test_all_that_it_started_is_ended_with_it(
        self, start: Start, tmp_path: Path, of_its_own: bool
    ) -> None:
        starts = (
            "import subprocess\nchild = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], "
            f"start_new_session={of_its_own})\n"
            "open('child', 'w').write(str(child.pid))\n"
        )
        lib = start(HANDSHAKE + starts + LOOP + ECHO)
        assert data(asked(lib, 1)) == [0]
        number = int((tmp_path / "child").read_text())
        lib.close()
        for _ in range(100):
            if (
                not Path(f"/proc/{number}").exists()
                or "Z" in Path(f"/proc/{number}/stat").read_text().split()[2]
            ):
                break
            time.sleep(0.05)
        else:
            os.kill(number, 9)
            pytest.fail("it still runs")


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("import sys; sys.exit('no module named lib')", "exit code 1.*no module named lib"),
        ("import time; time.sleep(600)", "does not shake hands: it was silent for 1 s"),
        (GREETING + "say(adcp_extractor=2, name='lib')", "speaks version 2"),
        (GREETING + "say(hello=1)", "speaks version null"),
        (GREETING + "say(adcp_extractor=1)", "`name` of its handshake"),
        (GREETING + "say(adcp_extractor=1, name='l', version=1)", "`version` of its handshake"),
        (GREETING + "say(adcp_extractor=1, name='l', transports=['http'])", "`transports` of its handshake"),
        (GREETING + "say(adcp_extractor=1, name='l', limit=5)", "`limit` of its handshake"),
        (GREETING + "say(adcp_extractor=1, name='l', limit={'size': 0})", "`limit.size`"),
        (GREETING + "say(adcp_extractor=1, name='l', limit={'size': 9, 'unit': 'mib'})", "`limit.unit`"),
    ],
)
def test_a_handshake_that_fails(start: Start, script: str, says: str) -> None:
    with pytest.raises(LibraryError, match=says):
        start(script, starting=1.0, answering=1.0)


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(LibraryError, match="cannot be started: No such file"):
        CommandLibrary([str(tmp_path / "gone")], folder=tmp_path, asks=Asks.CALLS)


def test_the_version_is_the_one_of_the_schema() -> None:
    assert SCHEMA.schema["$defs"]["hello"]["properties"]["adcp_extractor"]["const"] == messages.PROTOCOL  # type: ignore[index]


class TestToldTruly:
    @pytest.mark.parametrize(
        "member",
        ['transports=[["mcp"]]', "transports=[{}]", "kinds=[[]]", 'limit={"size": 1, "unit": []}'],
    )
    def test_a_handshake_of_wrong_types_is_refused(self, start: Start, member: str) -> None:
        with pytest.raises(LibraryError, match="of its handshake must be"):
            start(GREETING + f'say(adcp_extractor=1, name="lib", {member})\n' + LOOP + ECHO)

    def test_true_is_no_version(self, start: Start) -> None:
        with pytest.raises(LibraryError, match="speaks version true"):
            start(GREETING + 'say(adcp_extractor=True, name="lib")\n' + LOOP + ECHO)

    def test_what_comes_at_one_with_the_handshake_is_noted(self, start: Start) -> None:
        both = 'sys.stdout.write(\'{"adcp_extractor": 1, "name": "lib"}\\n{"id": 1, "data": 0}\\nhello\\n\'); sys.stdout.flush()\n'
        lib = start(GREETING + both + LOOP + ECHO)
        assert data(asked(lib, 2)) == [0, 1]
        assert len(lib.behaviour.lies) == 1
        assert lib.behaviour.printed == ('"hello"',)

    def test_wrong_ids_are_not_silence(self, start: Start) -> None:
        lib = start(HANDSHAKE + LOOP + "    say(id=str(number), data=None)\n", answering=0.5)
        (answer,) = asked(lib, 1)
        assert isinstance(answer, NoAnswer)
        assert answer.asked
        assert 'gave no answer for 0.5 s, but wrote {"id": "1"' in answer.why

    def test_the_end_of_a_traceback_is_kept(self, start: Start) -> None:
        (answer,) = asked(start(HANDSHAKE + LOOP + "    raise ValueError('the last word')\n"), 1)
        assert isinstance(answer, NoAnswer)
        assert answer.why.endswith('ValueError: the last word"')

    def test_after_it_was_given_up_nothing_is_asked(self, start: Start) -> None:
        answers = asked(start(HANDSHAKE + LOOP + "    os._exit(0)\n"), 12)
        assert [answer.asked for answer in answers if isinstance(answer, NoAnswer)] == [True] * 9 + [
            False
        ] * 3
