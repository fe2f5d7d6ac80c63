"""What is said about objects: reasons, violations, rejected objects and warnings."""

from .value import Value


class Reason(Value, frozen=True, order=True):
    """Why a group is held: which rule, about what, in words."""

    rule: str
    about: str
    message: str


class Violation(Value, frozen=True, order=True):
    """What a plan breaks: found by a rule's plain-Python half."""

    rule: str
    about: str
    message: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.about}: {self.message}"


class Rejected(Value, frozen=True, order=True):
    """An object that was refused at the door: where it is wrong and what to do."""

    object: str
    path: str
    message: str


class Warned(Value, frozen=True, order=True):
    """Something odd about an object that was accepted nevertheless."""

    object: str
    path: str
    message: str
