"""Errors that the user can fix; command lines print one line and exit with 2."""


class UserError(ValueError):
    """An input of the user cannot be used.

    The message is one line: where (file, and line if there is one), the problem, the remedy.
    """


class MachineError(UserError):
    """The machine lacks something that was requested."""


class DiskError(MachineError, OSError):
    """A file cannot be written; the message states the remedy."""


class ProcessError(UserError):
    """Another process of a distributed run has ended, so this one cannot continue."""


class TrainingError(UserError):
    """Training cannot start or continue; the message states what to change."""


class StateError(UserError):
    """The saved state of a training run cannot be continued."""


class KeptError(UserError):
    """A kept result on disk is damaged; see runtime.store."""
