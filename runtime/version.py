"""The version of the project, printed by `--version` of every program."""

VERSION = "1.1.0"
