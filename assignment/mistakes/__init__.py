"""The library of known mistakes: part -> what is often done wrong there. Feeds: suites."""

from assignment.mistakes import attention
from assignment.mistakes.mistake import Mistake

MISTAKES: dict[str, tuple[Mistake, ...]] = {
    "attention": attention.MISTAKES,
}
