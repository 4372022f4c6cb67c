"""The version of the project, printed by `--version` of every program."""

VERSION = "2.0.0"
