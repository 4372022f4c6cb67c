"""Attacks on the grading, each with what it scores: nothing where it attacks, the rest if honest.

Every file of `attacks/` has `double` attack; `total` and `mean` are honest. What a layer of the
sandbox stops on one machine, the way of judging stops on all: the scores do not depend on layers.
"""

import os
import socket
import time
from pathlib import Path

import pytest
from small_suite import HONEST, LIMITS, exam, graded, passed, submission, write_suite

from assignment.grading import grade

ATTACKS = Path(__file__).parent / "attacks"
HONEST_PART = {"total", "mean"}
# What stops the run that was at `double`; "" for attacks that end with an answer, or an error.
EITHER = "its memory|"  # the limit refuses it, or whoever watches was there before
STOPS = {
    "endless_loop": "CPU seconds",
    "memory_bomb": EITHER,
    "shared_memory_bomb": "memory",
    "leave_early": "ended by itself",
    "forged_results": "",
    "always_equal": "",
    "skipped": "ended by itself",
    "frames_walked": "",
    "answers_read": "",
    "answers_linked": "ended by itself",
    "changed_suite": "ended by itself",
    "much_output": "output",
    "much_disk": "disk",
    "one_large_file": "",
    "many_folders": "ended by itself",
    "left_behind": "ended by itself",
    "parent_killed": "ended by itself",
}


@pytest.fixture(scope="module")
def suite(tmp_path_factory) -> Path:
    return write_suite(tmp_path_factory.mktemp("instructor") / "hidden")


def attack(name: str, **words: object) -> str:
    """Return the source of an attack, its @WORDS@ filled in, with the honest rest below."""
    source = (ATTACKS / f"{name}.py").read_text()
    for word, value in words.items():
        source = source.replace(f"@{word}@", str(value))
    return source + HONEST[HONEST.index("\n\ndef total") :]


@pytest.mark.parametrize("name", STOPS)
def test_an_attack_earns_nothing_and_the_honest_rest_counts(tmp_path, suite, name):
    marker = tmp_path / "open" / "marker"
    marker.parent.mkdir()
    marker.parent.chmod(0o777)
    words = {"ANSWERS": suite / "answers.npz", "MARKER": marker, "GRADER": os.getpid()}
    mark = graded(tmp_path / name, suite, attack(name, **words), cpu_seconds=2)
    assert passed(mark) == HONEST_PART
    told = mark.stops.get("double", "")
    assert set(mark.stops) <= {"double"}
    assert any(bool(told) == bool(words) and words in told for words in STOPS[name].split("|"))
    if name == "left_behind":
        time.sleep(3.5)
        assert not marker.exists()  # what it left behind was killed


def test_a_fork_bomb_earns_nothing_and_ends(tmp_path, suite):
    mark = graded(tmp_path / "bomb", suite, attack("fork_bomb"))
    # Its own children write answers, too, and may spoil those of the other cases.
    assert passed(mark) <= HONEST_PART
    assert mark.seconds < 4 * LIMITS.seconds


def test_sleeping_is_stopped_by_the_clock(tmp_path, suite):
    mark = graded(tmp_path / "sleeper", suite, attack("sleeper"), seconds=4)
    assert "double" not in passed(mark) and "its seconds" in mark.stops["double"]


def test_nothing_is_sent_to_anybody(tmp_path, suite):
    with socket.create_server(("127.0.0.1", 0)) as tcp:
        port = tcp.getsockname()[1]
        with (
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
            socket.socket(socket.AF_UNIX) as abstract,
        ):
            udp.bind(("127.0.0.1", port))
            abstract.bind(f"\0listener-{port}")
            abstract.listen()
            mark = graded(tmp_path / "sender", suite, attack("sent_away", PORT=port))
            for listener, receive in (
                (tcp, tcp.accept),
                (abstract, abstract.accept),
                (udp, lambda: udp.recv(100)),
            ):
                listener.setblocking(False)
                held = not mark.layers["network namespace"]
                if held or (listener is tcp and not mark.layers["landlock"]):
                    with pytest.raises(BlockingIOError):
                        receive()
    assert passed(mark) == HONEST_PART


def test_links_tests_and_configuration_handed_in_do_not_count(tmp_path, suite):
    solution = tmp_path / "solution.py"
    solution.write_text(HONEST)
    linker = submission(tmp_path / "linker")
    (linker.tree / "work.py").unlink()
    (linker.tree / "work.py").symlink_to(solution)
    mark = grade(linker, exam(suite))
    assert not passed(mark) and mark.left == ["work.py: a link"]

    tester = submission(tmp_path / "tester", "raise SystemExit\n")
    for name in ("conftest.py", "sitecustomize.py", "tests/test_work.py", "suite.json", "work.pyc"):
        (tester.tree / name).parent.mkdir(exist_ok=True)
        (tester.tree / name).write_text(HONEST)
    assert not passed(grade(tester, exam(suite)))
