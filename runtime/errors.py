"""One base class for what the user can fix: command lines print one line and exit with 2."""


class UserError(ValueError):
    """Something the user gave cannot be used.

    The message is one line: where (file, and line if there is one), what was found, what to do.
    """


class MachineError(UserError):
    """The machine lacks something that was asked for."""


class DiskError(MachineError, OSError):
    """A file cannot be written; the message says what it needs."""


class ProcessError(UserError):
    """Another process of a run on several is gone, so this one cannot go on either."""


class TrainingError(UserError):
    """Training cannot start or continue; the message says what to change."""


class StateError(UserError):
    """The saved state of a training run cannot be continued."""


class KeptError(UserError):
    """A result that was kept on disk is damaged; see runtime.store."""
