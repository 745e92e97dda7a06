"""Holdfast: where it lives and what it was told, settled once per process."""

import posix

from holdfast.clock import elapsed
from holdfast.core.config import Config, fallen, of_environment
from holdfast.disk import compiled
from holdfast.disk.home import Home, locate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

#: An event has one time limit, and these are the shares of it by which its parts are done: the transcript
#: is read, its facts are gathered, a checkpoint is taken, git has answered. The rest is for saying it.
READ, GATHERED, SAVED, ANSWERED = 0.35, 0.65, 0.82, 0.9


def _never(at: float) -> None:
    """Nobody waits."""


class Holdfast:
    """`trouble` says what is wrong with the settings. A hook goes on without them; a person who
    asks is told. `in_hook`: somebody waits, and a disk that does not answer must not be waited for. From
    `began`, by `clock.elapsed`, there are `seconds`; `ring` sets the moment at which Late is raised.
    `full`: the disk has no room, or home is not to be written to, and what is said is said from memory."""

    __slots__ = (
        *("began", "client_dir", "compiled", "config", "environ", "full", "home", "in_hook", "ring"),
        *("seconds", "trouble"),
    )

    def __init__(self, home: Home, client_dir: str, environ: dict[str, str]) -> None:
        self.home = home
        self.client_dir = client_dir
        self.environ = environ
        self.in_hook = False
        self.full: OSError | None = None
        self.began, self.seconds = elapsed(), float("inf")
        self.ring: Callable[[float], None] = _never
        self.compiled = compiled.current(home)
        own, wrong = of_environment(environ)
        self.config = Config(self.compiled.values, own)
        out_of_order = fallen(self.config) if own else []
        if out_of_order:
            wrong = "; ".join(filter(None, (wrong, *(what for _, _, what in out_of_order))))
            astray = {key for lower, upper, _ in out_of_order for key in (lower, upper)}
            own = {key: value for key, value in own.items() if key not in astray}
            self.config = Config(self.compiled.values, own)
        self.trouble = "; ".join(filter(None, (self.compiled.trouble, wrong)))

    @property
    def window(self) -> int:
        """The user's own word on the window's size; 0: none."""
        return int(self.config["window"])

    def by(self, share: float) -> float:
        """When so much of the time is over."""
        return self.began + share * self.seconds

    def left(self, share: float) -> float:
        """Seconds until then."""
        return self.by(share) - elapsed()

    @classmethod
    def open(cls, environ: dict[str, str] | None = None) -> "Holdfast":
        environ = environment() if environ is None else environ
        root, client_dir = locate(environ)
        return cls(Home(root), client_dir, environ)


def environment() -> dict[str, str]:
    """This process's, as text."""
    return {
        name.decode("utf-8", "surrogateescape"): value.decode("utf-8", "surrogateescape")
        for name, value in posix.environ.items()
    }
