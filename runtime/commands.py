"""How command lines end: exit codes, one line for a fault; and programs of several commands."""

import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence

from runtime.errors import UserError
from runtime.shortage import shortage_told


def exit_code(work: Callable[[], int | None], interrupted: str = "\ninterrupted") -> int:
    """Do the work of a command line whose output may be read by another program.

    Args:
        work: may return an exit code.
        interrupted: what Ctrl-C prints.

    Returns:
        What the work returned, 0 for nothing; 0 if nobody reads the output any more, 2 for what the
        user or the machine can mend, 130 for Ctrl-C.
    """
    logging.basicConfig(format="note: %(message)s", level=logging.WARNING)
    try:
        with shortage_told():
            return work() or 0
    except BrokenPipeError:  # whoever read the output has enough of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (UserError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(interrupted, file=sys.stderr)
        return 130


def run_command(
    program: str,
    commands: Mapping[str, Callable[[Sequence[str]], int | None]],
    argv: Sequence[str] | None,
) -> int:
    """Run one of a program's commands with the words behind its name; return the exit code.

    Args:
        program: as in `python -m report`.
        commands: by name; each reads its own flags.
        argv: the words; None: the command line's.
    """
    words = sys.argv[1:] if argv is None else list(argv)
    if not words or words[0] not in commands:
        asked = words[:1] in (["-h"], ["--help"])
        usage = f"usage: {program} {'|'.join(commands)} ... (--help after it explains)"
        print(usage, file=sys.stdout if asked else sys.stderr)
        return 0 if asked else 2
    return exit_code(lambda: commands[words[0]](words[1:]))
