"""run_multitask.py, of which one process is killed: `killed_rank.py RANK NUMBER ...`.

The system kills process RANK when it is about to help save the NUMBERth state.
"""

import os
import signal
import sys

import run_multitask
from runtime import training
from runtime.processes import rank


def main(victim: int, number: int, argv: list[str]) -> int:
    save, calls = resume.save_training, []

    def saving(*arguments):
        calls.append(arguments)
        if rank() == victim and len(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        save(*arguments)

    resume.save_training = saving
    return run_multitask.main(argv)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
