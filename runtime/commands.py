"""Start and end of command lines: streams, Ctrl-C, exit codes, errors of one line.

A program is a file with a `main`, or one of several commands (`run_command`). It calls `begin`
before its heavy imports, and does its work in `exit_code`.
"""

import errno
import logging
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from traceback import clear_frames
from types import FrameType

from runtime.cut import CUT
from runtime.errors import MachineError, UserError
from runtime.files import ADVICE as ADVICE_OF
from runtime.options import did_you_mean
from runtime.streams import flush_or_discard, printable, ready_streams
from runtime.torchrun import rank
from runtime.version import VERSION

logger = logging.getLogger(__name__)

INTERRUPTED = "\ninterrupted; the same command with --resume continues it"
# For programs that only keep their finished results.
INTERRUPTED_UNSAVED = "\ninterrupted; run the same command again to reuse finished results"


def leave_on_interrupt(message: str = INTERRUPTED) -> None:
    """Let Ctrl-C end the program at once until `raise_on_interrupt`, before anything is written."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, partial(_leave, message))


def raise_on_interrupt() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again, so that work in progress can be cleaned up."""
    if isinstance(signal.getsignal(signal.SIGINT), partial):
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(message: str, number: int, frame: FrameType | None) -> None:
    print(message, file=sys.stderr, flush=True)
    os._exit(130)  # an exception here would surface in the middle of an import


# Messages of torch's allocator (Linux, Windows), C++, memory-mapped files, oneDNN, a library that
# is loaded late, GPUs.
TOLD_BY = re.compile(
    r"DefaultCPUAllocator|std::bad_alloc|cannot allocate memory|could not create a memory"
    r"|failed to map segment|out of memory|CUBLAS_STATUS_ALLOC_FAILED",
    re.IGNORECASE,
)
ADVICE = (
    "take smaller batches (the --...batch-size flags), shorter texts (--...max-length), a smaller "
    "encoder or fewer --threads, or end other programs"
)
ASKED_FOR = re.compile(r"allocate (\d[\d.]*) ?(bytes|[KMGTPE]i?B)", re.IGNORECASE)


def is_shortage(error: BaseException) -> bool:
    """Return whether an error means that memory of the machine or of a GPU is exhausted."""
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno == errno.ENOMEM
    known = RuntimeError, OSError, ImportError
    return isinstance(error, known) and bool(TOLD_BY.search(str(error)))


@contextmanager
def shortage_told() -> Iterator[None]:
    """Turn a lack of memory inside the block into an error of one line: where, how much, remedy.

    Raises:
        MachineError: too little memory. Notes of progress bars in the error name the step.
    """
    try:
        yield
    except Exception as error:
        if not is_shortage(error):
            raise
        # The memory of the failed work is freed, so the error can be reported.
        clear_frames(error.__traceback__)
        step = "".join(f" {note}" for note in getattr(error, "__notes__", ())[:1])
        asked = ASKED_FOR.search(str(error))
        more = f" ({' '.join(asked.groups())} more were asked for)" if asked else ""
        raise MachineError(f"not enough memory{step}{more}; {ADVICE}") from None


LONGEST = 2000  # characters of a message
# The number of spins of a GNU OpenMP thread, such as PyTorch's, before it sleeps. By default they
# spin for milliseconds; on a busy machine the threads then wait for each other's spinning.
SPINS = "2000"


def begin(interrupted: str = "\ninterrupted") -> None:
    """Prepare the streams, and let Ctrl-C end the program with one line until `exit_code`.

    `--version` is answered here.

    Threads spin briefly unless the user has set this. OpenMP reads it when PyTorch is loaded.
    """
    ready_streams()
    if sys.argv[1:] == ["--version"]:
        print(VERSION)
        sys.exit(0)
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPINS)
    leave_on_interrupt(interrupted)
    try:
        os.getcwd()
    except FileNotFoundError:  # importing PyTorch would end the program without a reason
        print("error: the current folder no longer exists; change to another", file=sys.stderr)
        sys.exit(2)


def exit_code(
    work: Callable[[], int | None],
    interrupted: str | Callable[[], str] = "\ninterrupted",
    load: Callable[[], None] = lambda: None,
) -> int:
    """Do the work of a command line, and turn its errors into one line and an exit code.

    Args:
        work: may return an exit code.
        interrupted: the message for Ctrl-C, or what returns it then.
        load: imports the modules for the work; Ctrl-C ends the program at once until then.

    Returns:
        The work's result, or 0 for None; 2 for errors that the user can fix, such as a full disk;
        130 for Ctrl-C, and if the reader of the output has ended (`| head`).
    """
    ready_streams()
    notes = logging.StreamHandler()
    notes.addFilter(_first_time())
    notes.setFormatter(_OneLine("note: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[notes])
    CUT.take()  # of earlier commands in the same process
    try:
        with shortage_told():
            load()
            raise_on_interrupt()
            code = work() or 0
        if cut := CUT.note():
            logger.warning(cut)
        sys.stdout.flush()
    except BrokenPipeError:
        flush_or_discard()
        return 130
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] in OWN_PACKAGES:
            raise
        print(f"error: {error.name} is not installed: {INSTALL}", file=sys.stderr)
        return 2
    except (UserError, OSError) as error:
        flush_or_discard()  # in a pipe, too, the error stands below earlier output
        print(f"{_who('error')}: {in_one_line(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        message = interrupted if isinstance(interrupted, str) else interrupted()
        print(_who(message), file=sys.stderr)
        return 130
    return code


# A module of these that is missing is a bug; another one is not installed.
OWN_PACKAGES = set(
    "runtime data minbert simcse heads baselines evaluation report experiment assignment "
    "benchmarks runs run_multitask".split()
)
INSTALL = "activate the environment, or pip install -r requirements.txt"


class _OneLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def _first_time() -> Callable[[logging.LogRecord], bool]:
    """Return a filter that lets a message through once: a file may be read in several steps."""
    printed: set[str] = set()

    def is_new(record: logging.LogRecord) -> bool:
        before = len(printed)
        printed.add(record.getMessage())
        return len(printed) > before

    return is_new


def _who(first: str) -> str:
    """Return the prefix of an error's line: the process number, except for the first process."""
    return f"process {rank()} stopped" if rank() else first


def in_one_line(error: Exception) -> str:
    """Return an error's message; for errors of the system, the file and the reason."""
    message = str(error)
    if isinstance(error, OSError) and error.strerror:
        message = f"{error.filename or 'the output'}: {error.strerror}"
        if isinstance(error, PermissionError):
            message += "; allow reading and writing it, or name another"
        elif error.errno in ADVICE_OF:
            message += f"; {ADVICE_OF[error.errno]}"
    # An error may quote its input, and a damaged file may hold a field of megabytes.
    return printable(message if len(message) <= LONGEST else f"{message[:LONGEST]} ...")


EACH_HELPS = "Each command has its own --help."


def run_command(
    program: str,
    commands: Mapping[str, Callable[[Sequence[str]], int | None]],
    argv: Sequence[str] | None,
    overview: str = "",
) -> int:
    """Run one of a program's commands with the words after its name; return the exit code.

    Args:
        program: as in `python -m report`.
        commands: by name; each reads its own flags.
        argv: the words; None: the command line's.
        overview: the text of --help on the commands.
    """
    words = sys.argv[1:] if argv is None else list(argv)
    if not words or words[0] not in commands:
        asked = words[:1] in (["-h"], ["--help"])
        usage = f"usage: {program} {'|'.join(commands)} ..."
        if asked:
            print("\n\n".join(filter(None, (usage, overview.strip(), EACH_HELPS))))
        else:
            print(f"{usage}\n{EACH_HELPS}", file=sys.stderr)
        if words and not asked:
            meant = did_you_mean(words[0], commands)
            print(f"error: no command {printable(words[0])!r}{meant}", file=sys.stderr)
        return 0 if asked else 2
    return exit_code(lambda: commands[words[0]](words[1:]))
