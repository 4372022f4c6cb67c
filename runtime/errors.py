"""One base for what the user can mend: command lines print it as one line and exit with 2."""


class UserError(ValueError):
    """Something the user gave cannot be used.

    The message is one line: where (file, and line if there is one), what was found, what to do.
    """


class MachineError(UserError):
    """The machine lacks what was asked of it."""


class TrainingError(UserError):
    """Training cannot start or go on; the message says what to change."""


class StateError(UserError):
    """The saved state of a training run cannot be continued."""
