"""The sandbox: what a command may use, see and keep, in every way of isolation that is here."""

import json
import os
import py_compile
import shutil
import site
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from small_suite import WAYS, any_way, fault_here, let_in, name_of

from assignment import isolation, sandbox
from assignment.intake import asked_files
from assignment.isolation import ROOT, Job, Limits, probe, seccomp, ways
from assignment.parts import PARTS, chosen_parts
from assignment.sandbox import FIRST_USER, UNSAFE, Isolation, Outcome
from assignment.trees import traces, write_tree
from runtime.errors import MachineError, UserError

LIMITS = Limits(
    seconds=60,
    cpu_seconds=10,
    address_space=4 << 30,
    memory=256 << 20,
    processes=20,
    output_bytes=100_000,
)


def job(folder: Path, program: str, way: Isolation, reads=(), **limits) -> Job:
    (folder / "run").mkdir(parents=True)
    words = (sys.executable, "-SB", "-c", program)
    user = FIRST_USER if way.own_users else None
    return Job(words, folder / "run", replace(LIMITS, **limits), reads, user)


def run(folder: Path, program: str, way: Isolation | None = None, **more) -> Outcome:
    let_in(folder)
    way = way or any_way()
    return sandbox.run(job(folder, program, way, **more), way)


# What a program can do, each a line of Python whose errors mean that it cannot.
TRIALS = {
    "handles": "handles()[0]",
    "socket of the internet": "socket.socket(socket.AF_INET)",
    "socket of virtual machines": "socket.socket(40, socket.SOCK_STREAM)",
    "socket of the kernel": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)",
    "socket of this machine": "socket.socket(socket.AF_UNIX)",
    "socket pair": "socket.socketpair()",
    "memory of no process": "os.memfd_create('hoard')",
    "shared memory": "mmap.mmap(-1, 1 << 20)",
    "shared zeros": "mmap.mmap(os.open('/dev/zero', os.O_RDWR), 1 << 20)",
    "shared segment": "call(NUMBERS['shmget'], 0, 1 << 20, 0o1600)",
    "session's keys": "call(NUMBERS['keyctl'], 0, -3, 0)",
    "user's keys": "call(NUMBERS['keyctl'], 0, -4, 0)",
    "key made": "call(NUMBERS['add_key'], b'user', b'note', b'x', 1, -4)",
    "key asked": "call(NUMBERS['request_key'], b'user', b'secret', None, 0)",
    "new user namespace": "call(NUMBERS['unshare'], 0x10000000)",
    "cloned user namespace": "call(CLONE, 0x10000000 | 17, 0, 0, 0, 0) or os._exit(0)",
    "clone3": "call(435, 0, 0)",
    "another's handles": "call(NUMBERS['pidfd_getfd'], os.pidfd_open(os.getppid() or 1), 0, 0)",
    "ptrace": "call(NUMBERS['ptrace'], 0, 0, 0, 0)",
    "bpf": "call(NUMBERS['bpf'], 0, 0, 0)",
    "io_uring": "call(425, 1, ctypes.create_string_buffer(120))",
    "userfaultfd": "call(NUMBERS['userfaultfd'], 1)",
    "perf": "call(NUMBERS['perf_event_open'], ctypes.create_string_buffer(112), 0, -1, -1, 0)",
    "lock of a file": "fcntl.flock(open(sys.executable), fcntl.LOCK_SH)",
    "lock of a process": "fcntl.lockf(open(sys.executable), fcntl.LOCK_SH)",
    "lock of a handle": "fcntl.fcntl(open(sys.executable), 37, bytes(32))",
    "who holds a lock": "fcntl.fcntl(open(sys.executable), 36, bytes(32))",
    "lease": "fcntl.fcntl(open(sys.executable), 1024, 0)",
    "notes of changes": "fcntl.fcntl(os.open('/', os.O_RDONLY), 1026, 1)",
    "watch": "call(NUMBERS['inotify_add_watch'], 3, b'/', 2)",
    "watches": "call(NUMBERS['inotify_init1'], 0)",
    "page cache, emptied": "os.posix_fadvise(open(sys.executable).fileno(), 0, 0, 4)",
    "page cache, asked": "os.preadv(os.open(sys.executable, 0), [bytearray(1)], 0, 8)",
    "page cache, mapped": "call(NUMBERS['mincore'], 0, 0, 0)",
    "root": "os.setuid(0) if os.getuid() else 1 / 0",
    "passwords of this machine": "open('/etc/shadow').read()",
    "secret": "open(SECRET).read()",
    "secret of the root of process 1": "open('/proc/1/root' + SECRET).read()",
    "what is given, written": "open(GIVEN, 'a')",
    "what is given, read": "open(GIVEN).read()",
    "a file of its own": "open('own', 'w').write('x')",
    "who grades, signalled": "os.kill(GRADER, 0)",
    "a note for others": "open(NOTE, 'w').write('x')",
}
ALLOWED = {"what is given, read", "a file of its own"}
TRY = """
import ctypes, errno, fcntl, json, mmap, os, socket, sys
library = ctypes.CDLL(None, use_errno=True)
def call(*words):
    if library.syscall(*[ctypes.c_long(w) if isinstance(w, int) else w for w in words]) < 0:
        raise OSError(ctypes.get_errno(), 'no')
    return 0
def handles():
    found = []
    for number in range(3, 99):
        try:
            found.append(os.fstat(number))
        except OSError:
            pass
    return found
done = []
for name, line in TRIALS.items():
    try:
        eval(compile(line, name, 'eval'))
        done.append(name)
    except (OSError, ArithmeticError, IndexError, ValueError):
        pass
print(json.dumps(done))
"""


@pytest.fixture(scope="module", params=WAYS, ids=name_of)
def way(request) -> Isolation:
    if fault := request.param.way.missing() or fault_here(request.param):
        pytest.skip(fault)
    return request.param


def test_nothing_can_be_reached_kept_or_seen_that_is_not_given(tmp_path, way):
    given, secret = tmp_path / "given" / "file", tmp_path / "instructor" / "answers"
    notes = tmp_path / "open"
    for folder in (given.parent, secret.parent, notes):
        folder.mkdir()
        folder.chmod(0o777)
    for path in (given, secret):
        path.write_text("words")
        path.chmod(0o666)
    if way.name == "user":  # from whom nothing but its mode hides a file
        given.chmod(0o644)
        secret.parent.chmod(0o700)
    column = seccomp.ARCHITECTURES[os.uname().machine][0]
    values = {
        "TRIALS": TRIALS,
        "NUMBERS": {name: both[column] for name, both in seccomp.REFUSED.items()},
        "CLONE": (56, 220)[column],
        "SECRET": str(secret),
        "GIVEN": str(given),
        "GRADER": os.getpid(),
        "NOTE": str(notes / "note"),
    }
    words = "".join(f"{name} = {value!r}\n" for name, value in values.items())
    outcome = run(tmp_path, words + TRY, way, reads=(given.parent,))
    assert outcome.exit_code == 0, outcome.output
    done = set(json.loads(outcome.output))
    if way.name == "container":  # whose limit of memory counts these, too
        done.discard("shared zeros")
    if way.name == "user":  # which is why it marks one submission alone, on a machine of its own
        done -= {"a note for others", "shared zeros"}
    assert done == ALLOWED


@pytest.mark.parametrize(
    ("program", "stopped"),
    [
        ("x = [bytearray(b'x') * (1 << 25) for _ in range(64)]; time.sleep(60)", "memory"),
        ("for n in range(40): os.fork() or time.sleep(60)\ntime.sleep(60)", "processes"),
        ("for n in range(3000): open(str(n), 'w').close()\ntime.sleep(60)", "disk"),
        ("os.close(1); os.close(2); time.sleep(60)", "seconds"),
    ],
)
def test_what_uses_more_than_it_may_is_stopped(tmp_path, program, stopped):
    """Further limits are those that attacks reach."""
    limits = {"seconds": 4} if stopped == "seconds" else {"files": 1000}
    outcome = run(tmp_path, f"import os, time\n{program}", **limits)
    # Where processes are limited, too, the kernel refuses what is too much.
    assert outcome.stopped == stopped or (stopped == "processes" and "BlockingIO" in outcome.output)


def test_a_command_ends_with_its_output_and_exit_code_and_has_a_small_environment(tmp_path):
    program = "import os, sys; print(dict(os.environ), os.getcwd(), os.umask(0)); sys.exit(3)"
    outcome = run(tmp_path, program)
    assert (outcome.exit_code, outcome.stopped) == (3, "") and outcome.output.endswith(" 63\n")
    shown = [name for name in os.environ if name not in sandbox.ENVIRONMENT and len(name) > 4]
    assert not [name for name in shown if f"'{name}'" in outcome.output and name != "LC_CTYPE"]


DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    time.sleep(600)
time.sleep(600)
"""


def daemons(mark: str) -> list[str]:
    """Return what runs of a program that has a mark, outside of whoever started it."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode().split("\0")
        except OSError:  # it has ended meanwhile
            continue
        found += [path.parent.name] if words[1:2] == ["-SBc"] and mark in words[2] else []
    return found


def test_with_the_grader_ends_all_that_it_started(tmp_path, way):
    program = f"# {tmp_path}{DAEMON}"
    source = (
        "import sys; from pathlib import Path\n"
        "from assignment import sandbox; from assignment.isolation import Job, Limits\n"
        f"way = sandbox.Isolation({way.name!r}, {way.own_users})\n"
        f"job = Job((sys.executable, '-SBc', {program!r}), Path({str(tmp_path / 'run')!r}),"
        f" Limits(seconds=100), user={FIRST_USER if way.own_users else None})\n"
        "sandbox.run(job, way)\n"
    )
    (tmp_path / "run").mkdir()
    let_in(tmp_path)
    grader = subprocess.Popen([sys.executable, "-c", source], cwd=ROOT)
    wait_for(lambda: len(daemons(str(tmp_path))) == 2)
    grader.kill()
    grader.wait()
    wait_for(lambda: not daemons(str(tmp_path)))


def wait_for(holds) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


LEFT = """
import os
os.chdir("..")
def write(name, text="x"):
    with open(f"out/{name}", "w") as file:
        file.write(text)
write("fine")
write("unasked")
write("empty", "")
os.symlink("/etc/passwd", "out/link")
os.mkfifo("out/pipe")
os.mkdir("out/folder")
with open("out/large", "w") as file:
    file.truncate(2**25)
"""


def test_only_plain_small_files_that_are_asked_for_are_handed_back(tmp_path, way):
    names = ("fine", "empty", "link", "pipe", "folder", "large", "gone")
    let_in(tmp_path)
    work = replace(job(tmp_path, LEFT, way), returns=tuple(f"out/{name}" for name in names))
    outcome = sandbox.run(work, way)
    assert outcome.exit_code == 0, outcome.output
    assert outcome.files == {"out/fine": b"x"}


@pytest.mark.parametrize(
    "stream",
    ["", "[1", "{}\n", "null\n", '["a", -9]\nxx', '["a", "b"]\n', "[[], []]\n", "[0, Infinity]"],
)
def test_what_a_student_might_write_among_what_is_handed_back_is_no_error(stream):
    files, code, _ = sandbox._handed_back(stream.encode(), ("a",))
    assert files in ({}, {"a": b""}, {"a": b"xx"}) and code in (0, 137)


HOARDER = """
import os, time
taken = 0
try:
    for number in range(4000):
        handle = os.open(f"{number}", os.O_CREAT | os.O_WRONLY)
        os.unlink(f"{number}")
        taken += os.write(handle, bytes(1 << 20))
except OSError as error:
    print(taken, error.strerror, flush=True)
time.sleep(1)
"""


def test_files_without_a_name_fill_no_more_than_what_a_submission_may_use(tmp_path, way):
    limits = {"disk_bytes": 32 << 20, "open_files": 4096}
    try:
        outcome = run(tmp_path, HOARDER, way, **limits)
        assert outcome.stopped == "disk"
        assert int([*outcome.output.split(), 0][0]) <= 33 << 20  # it may be stopped before it tells
    except MachineError as error:  # what is free on the disk tells, not whose files they are
        assert way.name == "user" and "unnamed files" in str(error)


NOTE = """
import os
for folder, folders, files in os.walk("/"):
    if folder == "/":
        folders[:] = {*folders} - {"proc", "sys"}
    if any(MARK in name for name in folders + files):
        print(folder)
    if WRITE and os.access(folder, os.W_OK):
        for make in (lambda path: open(path, "w").close(), os.mkdir, os.mkfifo):
            make(f"{folder}/{MARK}-{make.__name__}")
        WRITE.append(folder)
print(len(WRITE))
"""


def test_one_submission_finds_no_note_of_the_one_before(tmp_path, way):
    mark = f"note-{os.getpid()}-{way.name}"
    told = []
    for number, write in enumerate(([True], [])):
        words = f"MARK, WRITE = {mark!r}, {write}\n"
        told.append(run(tmp_path / str(number), words + NOTE, way, cpu_seconds=50).output)
    written, read = told
    assert written.splitlines()[-1] > "1" and read == "0\n", written + read


# What a thief may do: walk, and run the project's own function, or what Python made of it.
THIEF = """
import glob, os, sys
print(*sorted(glob.glob(f"{PLACE}/**/*.py*", recursive=True)), flush=True)
sys.path[:0] = [PLACE, *glob.glob(f"{PLACE}/*")]
import minbert.attention
print("stolen")
"""
STAGED = """
import json, site, sys
from dataclasses import replace
from pathlib import Path
from assignment import isolation, sandbox
from assignment.isolation import Job, Limits
place, folder, program, way, user = json.loads(sys.argv[1])
isolation.SYSTEM += (place,)
if INSTALLED:
    before = site.getsitepackages()
    site.getsitepackages = lambda: [*before, place]
Path(folder).mkdir()
job = Job((sys.executable, "-SBc", program), Path(folder), Limits(), user=user)
print(sandbox.run(job, sandbox.Isolation(way, user is not None)).output)
"""


@pytest.mark.parametrize("installed", [False, True], ids=["clone", "installed"])
def test_the_solution_cannot_be_read_where_the_project_lies_among_what_is_mounted(
    tmp_path, way, installed
):
    """A clone under /usr/src, and `pip install .`."""
    if way.name == "user":
        pytest.skip("mounts nothing, and is refused where the solution can be read")
    place = tmp_path / "usr"
    project = place if installed else place / "src"
    for name in ("assignment", "minbert", "runtime", "data"):
        shutil.copytree(ROOT / name, project / name, ignore=shutil.ignore_patterns("*.xz", "mini*"))
    let_in(tmp_path)
    program = f"PLACE = {str(place)!r}\n{THIEF}"
    user = FIRST_USER if way.own_users else None
    spec = json.dumps([str(place), str(tmp_path / "run"), program, way.name, user])
    words = [sys.executable, "-c", f"INSTALLED = {installed}\n{STAGED}", spec]
    done = subprocess.run(words, cwd=project, capture_output=True, text=True, check=False)
    assert "ModuleNotFoundError" in done.stdout and "stolen" not in done.stdout, done.stderr
    seen = {Path(word).relative_to(project) for word in done.stdout.splitlines()[0].split()}
    folders = {str(path.parent).removesuffix("/__pycache__") for path in seen}
    assert folders <= {"assignment", "assignment/isolation"}


def test_a_container_has_memory_of_a_fixed_size_to_write_to_and_nothing_of_this_project(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(ways, "_engine", lambda: ["/usr/bin/docker"])
    monkeypatch.setattr(ways, "_import_empty", lambda engine: None)
    monkeypatch.setattr(isolation, "SYSTEM", (*isolation.SYSTEM, str(ROOT)))
    work = job(tmp_path, "", Isolation("container"))
    words = ways.CONTAINER.wrap(work, ["inside"])
    assert f"--tmpfs={work.folder}:rw,size={work.limits.disk_bytes},mode=1777" in words
    assert f"--volume={ROOT}:{ROOT}:ro" in words
    for name in ("minbert", "simcse", "heads", "tests", ".git", "assignment/starter"):
        if (ROOT / name).is_dir():
            assert f"--volume={work.folder}:{ROOT / name}:ro" in words
    assert f"--volume={ROOT / 'assignment/isolation'}:{ROOT / 'assignment/isolation'}:ro" in words


@pytest.mark.parametrize("compiled", [False, True], ids=["source", "compiled"])
def test_a_way_in_which_the_solution_can_be_read_anywhere_is_refused(
    tmp_path, way, compiled, monkeypatch
):
    """It is known by what it says, under whatever name it lies."""
    copy = tmp_path / "lib" / "notes.bak"
    copy.parent.mkdir()
    source = ROOT / "minbert" / "attention.py"
    if compiled:
        py_compile.compile(str(source), str(copy))
    else:
        shutil.copyfile(source, copy)
    copy.chmod(0o644)
    let_in(copy)
    monkeypatch.setattr(isolation, "SYSTEM", (*isolation.SYSTEM, str(copy.parent)))
    folders = [*site.getsitepackages(), str(copy.parent)]
    monkeypatch.setattr(site, "getsitepackages", lambda: folders[1:])
    fault = sandbox.fault_of(way, [], traces(["attention"], [ROOT]))
    remedy = "chmod -R go-rwx its folder, or move it"
    assert fault == f"students' code can read the solution in {copy}; {remedy}"


def test_a_solution_is_known_by_its_lines_and_its_bytecode_and_the_hand_out_is_none(tmp_path):
    write_tree(tmp_path, chosen_parts(), solved=False)
    marks = traces(PARTS, [ROOT])
    lines = [[bytes.fromhex(line) for line in body] for body in marks["lines"]]
    code = [bytes.fromhex(line) for line in marks["bytecode"]]
    known = {
        file
        for file in asked_files(PARTS)
        if probe.is_solution((ROOT / file).read_bytes(), lines, code)
        and not probe.is_solution((tmp_path / file).read_bytes(), lines, code)
    }
    assert len(known) >= len(asked_files(PARTS)) - 1  # all but heads.py, whose bodies are one line


@pytest.mark.parametrize("program", ["bwrap", "docker"])
def test_a_program_that_others_may_change_keeps_nobody_out(tmp_path, program, monkeypatch):
    place = tmp_path / "bin"
    place.mkdir()
    (place / program).write_text("#!/bin/sh\nexit 0\n")
    (place / program).chmod(0o777)
    monkeypatch.setenv("PATH", str(place))
    assert str(place) not in ways.untrusted(program)  # PATH is not asked
    monkeypatch.setattr(ways, "PROGRAMS", str(place))
    fault = f"{place / program} can be changed by others than root; chmod go-w it"
    assert ways.untrusted(program) == fault


def test_a_machine_without_any_way_is_told_in_one_line(monkeypatch):
    ways = [replace(way, missing=lambda: "not here") for way in sandbox.WAYS]
    monkeypatch.setattr(sandbox, "WAYS", ways)
    with pytest.raises(MachineError) as error:
        sandbox.choose()
    every = "container: not here; bubblewrap: not here; user: not here"
    assert str(error.value) == f"no sandbox works here ({every}); --unsafe grades without one"
    with pytest.raises(UserError, match="--sandbox jail: unknown; one of"):
        sandbox.choose("jail")


def test_another_user_marks_one_submission_alone(monkeypatch):
    monkeypatch.setattr(sandbox, "fault_of", lambda *more: "")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert sandbox.choose("user", alone=True) == Isolation("user", own_users=True)
    with pytest.raises(MachineError, match="marks a single submission only"):
        sandbox.choose("user")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(MachineError, match="only root can run code as another user"):
        sandbox.choose("user", alone=True)


def test_no_way_is_taken_in_which_the_answers_can_be_opened(tmp_path, way, monkeypatch):
    answers = tmp_path / "term" / "hidden" / "answers.npz"
    answers.parent.mkdir(parents=True, mode=0o711)  # who knows a name may enter
    answers.write_text("")
    answers.chmod(0o600)
    let_in(answers.parent)
    assert sandbox.fault_of(way, [answers.parent]) == ""
    answers.chmod(0o644)
    monkeypatch.setattr(isolation, "SYSTEM", (*isolation.SYSTEM, str(tmp_path / "term")))
    fault = sandbox.fault_of(way, [answers.parent])
    assert fault.startswith(f"students' code can open {answers.parent}")
    assert fault.endswith("; chmod -R go-rwx its folder, or move it")


def test_an_interpreter_that_cannot_be_run_is_an_error_of_the_machine(tmp_path):
    way = any_way()
    own = replace(job(tmp_path, "", way), command=(str(tmp_path / "none"), "-c", "pass"))
    with pytest.raises(MachineError, match="does not start"):
        sandbox.run(own, way)


def test_memory_that_the_machine_lacks_is_no_fault_of_the_students(tmp_path, monkeypatch):
    killed = "import os; os.kill(os.getpid(), 9)"
    assert run(tmp_path / "itself", killed, Isolation(UNSAFE)).exit_code == 128 + 9
    kills = iter([3, 4])  # the kernel counts those that it kills
    monkeypatch.setattr(sandbox, "_out_of_memory_kills", lambda: next(kills))
    with pytest.raises(MachineError, match="ran out of memory"):
        run(tmp_path / "kernel", killed, Isolation(UNSAFE))
