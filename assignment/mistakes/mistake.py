"""A known mistake: a patch of our own code, and the words for a student who made it."""

from dataclasses import dataclass

from runtime.errors import UserError


@dataclass(frozen=True)
class Mistake:
    """One mistake.

    Attributes:
        name: unique among all parts.
        file: of the project.
        old: the text to replace; occurs once in the file.
        new: what stands there instead.
        says: the likely cause, as told to a student.
    """

    name: str
    file: str
    old: str
    new: str
    says: str

    def patch(self, source: str) -> str:
        """Return the file with the mistake.

        Raises:
            UserError: the file does not hold `old` exactly once.
        """
        count = source.count(self.old)
        if count != 1:
            raise UserError(
                f"{self.file}: mistake {self.name!r} replaces a text that occurs {count} times; "
                "expected once"
            )
        return source.replace(self.old, self.new)
