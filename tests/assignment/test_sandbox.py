"""The sandbox: what a command may use and see, and what is said of layers that do not hold."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from assignment import jail, sandbox
from assignment.grading import FIRST_USER
from assignment.sandbox import Limits, Outcome

ROOT = Path(__file__).parents[2]
BECOME = "import os\ntry: os.setuid(5)\nexcept OSError: print('refused')"
LIMITS = Limits(seconds=60, cpu_seconds=10, address_space=2 << 30, output_bytes=100_000)


def run(folder: Path, program: str, **more) -> Outcome:
    folder.mkdir(exist_ok=True)
    limits = replace(LIMITS, **{k: v for k, v in more.items() if k not in ("reads", "user")})
    rest = {"user": FIRST_USER, **{k: v for k, v in more.items() if k in ("reads", "user")}}
    return sandbox.run([sys.executable, "-SB", "-c", program], folder, limits, **rest)


def test_a_command_ends_with_its_output_and_its_exit_code(tmp_path):
    outcome = run(tmp_path / "w", "import sys; print('héllo'); sys.exit(3)")
    assert (outcome.exit_code, outcome.output, outcome.stopped) == (3, "héllo\n", "")
    assert outcome.layers["no new privileges"] == "" and outcome.layers["limits"] == ""


def test_environment_handles_and_limits_are_those_asked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "12345")
    own = LIMITS.of_a_process()
    program = f"""
import json, os, resource
handles = []
for n in range(3, 100):
    try:
        os.fstat(n)
        handles.append(n)
    except OSError:
        pass
limits = {{n: resource.getrlimit(getattr(resource, n)) for n in {list(own)}}}
print(json.dumps([dict(os.environ), os.getcwd(), os.umask(0), handles, limits]))
"""
    environment, folder, umask, handles, limits = json.loads(run(tmp_path / "w", program).output)
    assert set(environment) <= {*sandbox.ENVIRONMENT, "HOME", "TMPDIR", "LC_CTYPE"}
    assert folder == environment["HOME"] == str((tmp_path / "w" / "scratch").resolve())
    assert (umask, handles) == (0o077, [])
    assert limits == {name: [most, most] for name, most in own.items()}


def test_output_is_kept_up_to_a_bound_and_then_stops_the_command(tmp_path):
    outcome = run(tmp_path / "w", "while True: print('y' * 1000)")
    assert outcome.stopped == "output" and len(outcome.output) == sandbox.SHOWN_BYTES


def test_a_closed_output_does_not_hide_a_command_from_the_clock(tmp_path):
    start = time.monotonic()
    program = "import os, time; os.close(1); os.close(2); time.sleep(60)"
    outcome = run(tmp_path / "w", program, seconds=2)
    assert outcome.stopped == "seconds" and time.monotonic() - start < 50


def test_many_small_files_stop_the_command(tmp_path):
    program = "import time\nfor n in range(3000): open(str(n), 'w').close()\ntime.sleep(60)"
    assert run(tmp_path / "w", program, files=1000).stopped == "disk"


def test_files_outside_can_neither_be_read_nor_written(tmp_path):
    given, secret = tmp_path / "given" / "file", tmp_path / "secret" / "file"
    for path in (given, secret):
        path.parent.mkdir()
        path.write_text("words")
    program = (
        "for path, mode in PATHS:\n"
        "  try:\n"
        "    with open(path, mode): print('open')\n"
        "  except OSError as error: print('refused')\n"
    )
    paths = [(str(given), "r"), (str(given), "a"), (str(secret), "r"), ("own", "w")]
    outcome = run(tmp_path / "w", program.replace("PATHS", repr(paths)), reads=[given.parent])
    if outcome.layers["landlock"]:
        pytest.skip(f"no Landlock here: {outcome.layers['landlock']}")
    assert outcome.output.split() == ["open", "refused", "refused", "open"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the user")
def test_root_gives_the_command_a_user_of_its_own_without_capabilities(tmp_path):
    outcome = run(tmp_path / "w", "import os; print(os.getresuid(), os.getgroups())")
    if outcome.layers["own user"]:
        pytest.skip(f"no user of its own here: {outcome.layers['own user']}")
    assert outcome.output.strip() == f"{(FIRST_USER,) * 3} []"
    outcome = run(tmp_path / "w2", BECOME)
    assert outcome.output == "refused\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="a user namespace does the same without root")
def test_root_without_a_user_for_the_command_has_no_capabilities_either(tmp_path):
    outcome = run(tmp_path / "w", BECOME, user=None)
    assert outcome.layers["own user"] and outcome.layers["process limit"]
    assert outcome.output == "refused\n"


@pytest.fixture
def old_kernel(monkeypatch):
    """A kernel as of 2020, in a container: no Landlock, no namespaces."""
    program = (
        "from assignment import jail\n"
        "jail.abi = lambda: 0\n"
        "def refuse(flags): raise PermissionError(1, 'Operation not permitted')\n"
        "jail._unshare = refuse\n"
        "jail.main()\n"
    )
    real = subprocess.Popen

    def start(command, **more):
        return real([sys.executable, "-sSB", "-c", program, command[-1]], **more)

    monkeypatch.setattr(subprocess, "Popen", start)


def test_a_layer_that_is_refused_is_reported_and_the_rest_holds(tmp_path, old_kernel):
    outcome = run(tmp_path / "w", "print('still runs')", user=None)
    assert outcome.output == "still runs\n"
    refused = {name for name, why in outcome.layers.items() if why}
    assert {"landlock", "network namespace", "process namespace"} <= refused
    assert "limits" not in refused and outcome.layers["landlock"] == "this kernel has no Landlock"


def test_want_of_memory_is_told_from_cpu_time_and_from_suicide(tmp_path, old_kernel, monkeypatch):
    outcome = run(tmp_path / "busy", "while True: pass", user=None, cpu_seconds=2)
    assert outcome.stopped == "CPU seconds"
    killed = "import os; os.kill(os.getpid(), 9)"
    outcome = run(tmp_path / "itself", killed, user=None)
    assert (outcome.stopped, outcome.exit_code) == ("", 128 + 9)
    # As if the kernel had done it, which counts such kills.
    kills = iter([3, 4])
    monkeypatch.setattr(sandbox, "_out_of_memory_kills", lambda: next(kills))
    assert run(tmp_path / "kernel", killed, user=None).stopped == "memory"


def test_without_a_process_namespace_what_was_left_behind_is_killed_too(tmp_path, old_kernel):
    daemon = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "  os.setsid()\n"
        "  if os.fork() == 0:\n"
        "    open('pid', 'w').write(str(os.getpid())); time.sleep(60)\n"
        "  os._exit(0)\n"
        "while not (os.path.exists('pid') and open('pid').read()): time.sleep(0.01)\n"
    )
    outcome = run(tmp_path / "w", daemon, user=None)
    assert outcome.exit_code == 0 and outcome.layers["process namespace"]
    process = (tmp_path / "w" / "scratch" / "pid").read_text()
    status = Path(f"/proc/{process}/status")
    assert not status.exists() or "zombie" in status.read_text()


@pytest.mark.skipif(not jail.abi(), reason="no Landlock in this kernel")
def test_landlock_holds_for_children_and_for_good(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("words")
    program = (
        "import ctypes, os, subprocess, sys\n"
        "from assignment import jail\n"
        "ctypes.CDLL(None).prctl(38, ctypes.c_ulong(1), 0, 0, 0)\n"
        f"jail.restrict(['/usr', '/lib', '/lib64', '/bin', 'not there'], ['/dev/null'])\n"
        f"print(subprocess.run(['/bin/cat', {str(secret)!r}], stderr=-3).returncode)\n"
        f"print(subprocess.run(['/bin/cat', '/usr/bin/env'], stdout=-3).returncode)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == ["1", "0"]


def test_landlock_asks_for_no_right_that_an_older_kernel_does_not_know(monkeypatch):
    asked = []

    def call(number, *arguments):
        if number == jail.CREATE_RULESET and arguments[0] is not None:
            ruleset = arguments[0]._obj
            asked.append((ruleset.files, ruleset.tcp, ruleset.scopes))
            return os.open("/dev/null", os.O_RDONLY)
        return 0

    monkeypatch.setattr(jail, "_call", call)
    for version in (1, 2, 3, 4, 5, 6, 7, 99):
        monkeypatch.setattr(jail, "abi", lambda version=version: version)
        assert jail.restrict(["/usr"], []) == version
    bits = [files.bit_length() for files, _, _ in asked]
    assert bits == [13, 14, 15, 15, 16, 16, 16, 16]  # landlock(7), "Versions"
    assert [tcp for _, tcp, _ in asked] == [0, 0, 0, 3, 3, 3, 3, 3]
    assert [scopes for *_, scopes in asked] == [0, 0, 0, 0, 0, 3, 3, 3]
