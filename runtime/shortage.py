"""Too little memory: recognised, and told in one line. Feeds: command lines, reading checkpoints.

Python and numpy raise MemoryError; torch raises RuntimeErrors, of which only the text tells.
"""

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from traceback import clear_frames

from runtime.errors import MachineError

# torch's allocator (Linux, Windows), C++, files that are mapped, the products' library, GPUs.
TOLD_BY = re.compile(
    r"DefaultCPUAllocator|std::bad_alloc|cannot allocate memory|could not create a memory"
    r"|out of memory|CUBLAS_STATUS_ALLOC_FAILED",
    re.IGNORECASE,
)
ADVICE = (
    "take smaller batches (the --...batch-size flags), shorter texts (--...max-length), a smaller "
    "encoder or fewer --threads, or end other programs"
)
ASKED_FOR = re.compile(r"allocate (\d[\d.]*) ?(bytes|[KMGTPE]i?B)", re.IGNORECASE)


def is_shortage(error: BaseException) -> bool:
    """Return whether an error says that memory, of the machine or of a GPU, is used up."""
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno == errno.ENOMEM
    return isinstance(error, RuntimeError | OSError) and bool(TOLD_BY.search(str(error)))


@contextmanager
def shortage_told() -> Iterator[None]:
    """Turn a lack of memory inside the block into one line: where, how much, what to do.

    Raises:
        MachineError: there was too little. Notes of the error, as progress bars leave, say where.
    """
    try:
        yield
    except (MemoryError, RuntimeError, OSError) as error:
        if not is_shortage(error):
            raise
        # What the failed work holds is freed, so that there is memory to tell of it.
        clear_frames(error.__traceback__)
        step = "".join(f" {note}" for note in getattr(error, "__notes__", ())[:1])
        asked = ASKED_FOR.search(str(error))
        more = f" ({' '.join(asked.groups())} more were asked for)" if asked else ""
        raise MachineError(f"not enough memory{step}{more}; {ADVICE}") from None
