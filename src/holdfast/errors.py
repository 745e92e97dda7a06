"""Every error holdfast raises on purpose. Each carries what a shell needs to translate it."""


class HoldfastError(Exception):
    """A message says what is wrong, where, and what to do next."""

    exit_code = 1
    status = 500


class BadInput(HoldfastError):
    """What was asked for cannot be understood."""

    exit_code = 2
    status = 400


class NotFound(HoldfastError):
    exit_code = 3
    status = 404


class Damaged(HoldfastError):
    """Fails its own format; never the same as missing."""

    exit_code = 4
    status = 500


class Unavailable(HoldfastError):
    """What is needed exists, but does not answer now."""

    exit_code = 5
    status = 503


class MissingExtra(HoldfastError):
    """A feature whose optional dependency is not installed."""

    exit_code = 6
    status = 501


class Late(HoldfastError):
    """The watchdog rang: a hook gives up rather than hold up a session."""

    exit_code = 7
    status = 504


class Forbidden(HoldfastError):
    """Who asks may not; asking again changes nothing."""

    exit_code = 8
    status = 403


def is_full(problem: OSError) -> bool:
    """Whether the disk, or what may be used of it, has no room left."""
    from errno import EDQUOT, ENOSPC  # seldom asked for

    return problem.errno in (EDQUOT, ENOSPC)


def is_shut(problem: OSError) -> bool:
    """Whether nothing can be written there: no room, read-only, or somebody else's."""
    from errno import EACCES, EPERM, EROFS

    return is_full(problem) or problem.errno in (EACCES, EPERM, EROFS)


#: Mistakes of ours, as Python tells them. Caught where one part must not cost the others: what is gathered
#: may lack a record, but a checkpoint is taken.
MISTAKES = (TypeError, LookupError, AttributeError, ArithmeticError, RuntimeError, ValueError)
