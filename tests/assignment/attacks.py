"""Attacks on the grading: what a submission's `double` may be. test_attacks.py hands in each.

Each file handed in is this whole file with `double = NAME` and honest functions below it; the
words between @ are filled in.
"""

import ctypes
import gc
import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

ANSWERS = Path("@ANSWERS@")  # where the expected answers lie
MARKER = Path("@MARKER@")  # where anybody may write
GRADER = "@GRADER@"  # the grader's process
HOARD = []


def endless_loop(values):
    """Never returns."""
    while True:
        pass


def sleeper(values):
    """Never returns, and uses no CPU time while it does not."""
    time.sleep(3600)


def memory_bomb(values):
    """Takes 20 GB, page by page."""
    for _ in range(20):
        HOARD.append(bytearray(b"x") * (1 << 30))
    return 2 * values


def shared_memory_bomb(values):
    """Takes little in each process, and much in all of them."""
    for _ in range(16):
        if os.fork() == 0:
            hoard = bytearray(b"x") * (32 << 20)
            time.sleep(3600)
            return hoard
    while True:
        os.wait()


def fork_bomb(values):
    """Doubles its processes; stops at 256, so that it harms nobody where no limit holds."""
    for _ in range(8):
        os.fork()
    time.sleep(3600)


def leave_early(values):
    """Ends the process as if all were well."""
    os._exit(0)


def skipped(values):
    """Skips its test, as pytest.skip does: by an exception that is no Exception."""

    class Skipped(BaseException):
        pass

    raise Skipped("unconditional skip")


def forged_results(values):
    """Prints and writes what a grader might read."""
    test = {"name": "double", "score": 9, "max_score": 9, "status": "passed"}
    forged = json.dumps({"score": 9, "tests": [test]})
    print(forged, flush=True)
    for place in (Path.cwd(), *Path.cwd().parents):
        for name in ("results.json", "out/results.json", "out/double.json", "marks.csv"):
            try:
                (place / name).write_text(forged)
            except OSError:
                pass
    return forged


class Equal(np.ndarray):
    def __eq__(self, other):
        return np.ones(np.shape(other), dtype=bool)

    def __ne__(self, other):
        return ~(self == other)

    __hash__ = None

    def __array_ufunc__(self, *arguments, **more):
        return np.zeros(self.shape)

    def __array_function__(self, *arguments, **more):
        return True


def always_equal(values):
    """Answers with what says that it equals everything."""
    return np.zeros_like(values).view(Equal)


def frames_walked(values):
    """Looks through the callers' variables, and all other objects, for answers and verdicts."""
    frame = sys._getframe()
    while frame is not None:
        for places in (frame.f_locals, frame.f_globals):
            for name, found in list(places.items()):
                if name in ("answers", "expected", "gold", "wanted"):
                    return found
                if name in ("passed", "score", "points"):
                    places[name] = 9
        frame = frame.f_back
    for found in gc.get_objects():
        if isinstance(found, dict) and "answers" in found:
            return found["answers"]
        if isinstance(found, dict) and "points" in found:
            found["points"] = 0
    return values


def answers_read(values):
    """Knows where the answers lie, and reads them."""
    inside = Path("/proc/1/root") / str(ANSWERS)[1:]
    for path in (ANSWERS, inside, Path(f"/proc/{os.getppid()}/cwd")):
        try:
            with np.load(path) as stored:
                return stored["double/answer"]
        except OSError:
            pass
    return values


def answers_linked(values):
    """Leaves a link to the answers where its own answer should be."""
    place = Path(os.environ["HOME"]).parent / "out" / "double.npz"
    for link in (os.symlink, os.link):
        try:
            link(ANSWERS, place)
        except OSError:
            pass
    os._exit(0)


def folder_linked(values):
    """Puts a link to where the answers lie in the place of the folder for its own."""
    out = Path(os.environ["HOME"]).parent / "out"
    for place in (ANSWERS.parent, f"/proc/1/root{ANSWERS.parent}", f"/proc/{os.getppid()}/cwd"):
        try:
            out.rename(f"{out}-{time.monotonic()}")
            out.symlink_to(place)
            if (out / "double.npz").exists():
                break
        except OSError:
            pass
    os._exit(0)


def grader_read(values):
    """Reads the memory, environment, arguments and open files of all processes that it can see."""
    needle = np.load(ANSWERS)["double/answer"].tobytes() if ANSWERS.exists() else b"answer"
    for name in ("mem", "environ", "fd/0", "fd/3", "fd/5", "cwd/answers.npz"):
        for path in Path("/proc").glob(f"[0-9]*/{name}"):
            try:
                if path.parts[2] != str(os.getpid()) and needle in path.read_bytes():
                    return np.frombuffer(needle)
            except OSError:
                pass
    return values


def handles_taken(values):
    """Takes the pipe to the grader from the process that hands answers back, and fills it."""
    library = ctypes.CDLL(None)
    for process in (1, os.getppid()):
        for number in range(8):
            handle = library.syscall(438, os.pidfd_open(process), number, 0)
            if handle >= 0 and number < 3:
                os.write(handle, b'["out/double.npz", 9]\n[0, ""]\n' * 100)
                MARKER.write_text("written to the grader")
    os._exit(0)


def changed_suite(values):
    """Changes the suite, the driver and its own tree, in the hope that the next run reads them."""
    driver = Path(sys.argv[0])
    suite = Path(json.loads(sys.argv[1])["suite"])
    for path in (driver, *suite.iterdir(), Path(__file__)):
        try:
            path.chmod(0o777)
            path.write_text("{}")
        except OSError:
            pass
        try:
            path.unlink()
        except OSError:
            pass
    sys.exit("nothing to see here")


def much_output(values):
    """Prints 1 GB."""
    for _ in range(1 << 14):
        os.write(1, b"x" * (1 << 16))
    return 2 * values


def much_disk(values):
    """Fills the disk, a file after the other, as far as it gets."""
    for number in range(64):
        Path(f"{number}.bin").write_bytes(bytes(6 << 20))
    return 2 * values


def disk_without_names(values):
    """Takes 1 GB in files that it deletes at once, wherever it may write, and keeps them open."""
    places = [Path.cwd(), Path("/tmp"), Path("/var/tmp"), Path("/dev/shm")]
    for number in range(160):
        for place in places:
            try:
                file = (place / f"{number}-{os.getpid()}").open("wb", buffering=0)
                HOARD.append(file)
                os.unlink(file.name)
                file.write(bytes(7 << 20))
            except OSError:
                pass
    time.sleep(1)
    return 2 * values


def one_large_file(values):
    """Writes a file of 1 GB."""
    with Path("large.bin").open("wb") as file:
        for _ in range(64):
            file.write(bytes(16 << 20))
    return 2 * values


def many_folders(values):
    """Leaves folders deeper in each other than a program recurses, one in place of its answer."""
    out = Path(os.environ["HOME"]).parent / "out"
    (out / "double.npz").mkdir()
    (out / "double.error.txt").mkdir()
    os.chdir(out)
    for _ in range(1100):
        os.mkdir("d")
        os.chdir("d")
    return values


def left_behind(values):
    """Leaves a process behind, in a session of its own, that would write a mark later."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(1)
            MARKER.write_text("still here")
            os._exit(0)
        os._exit(0)
    os._exit(0)


def always_another(values):
    """Leaves a process behind that is another one whenever somebody looks for it."""
    if os.fork() == 0:
        os.setsid()
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            if os.fork():
                os._exit(0)
        MARKER.write_text("still here")
    os._exit(0)


def parent_killed(values):
    """Kills all that it can reach, its parent first."""
    for process in (int(GRADER), os.getppid()):
        try:
            os.kill(process, signal.SIGKILL)
        except OSError:
            pass
    os._exit(0)
