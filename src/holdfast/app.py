"""Holdfast: where it lives and what it was told, settled once per process."""

import posix

from holdfast.core.config import Config, fallen, of_environment
from holdfast.disk import compiled
from holdfast.disk.home import Home, locate


class Holdfast:
    """`trouble` says what is wrong with the settings. A hook goes on without them; a person who
    asks is told. `in_hook`: somebody waits, and a disk that does not answer must not be waited for."""

    __slots__ = ("client_dir", "compiled", "config", "environ", "home", "in_hook", "trouble")

    def __init__(self, home: Home, client_dir: str, environ: dict[str, str]) -> None:
        self.home = home
        self.client_dir = client_dir
        self.environ = environ
        self.in_hook = False
        self.compiled = compiled.current(home)
        own, wrong = of_environment(environ)
        self.config = Config(self.compiled.values, own)
        out_of_order = fallen(self.config) if own else []
        if out_of_order:
            wrong = "; ".join(filter(None, (wrong, *(what for _, _, what in out_of_order))))
            self.config = Config(self.compiled.values)
        self.trouble = "; ".join(filter(None, (self.compiled.trouble, wrong)))

    @property
    def window(self) -> int:
        """The user's own word on the window's size; 0: none."""
        return int(self.config["window"])

    @classmethod
    def open(cls, environ: dict[str, str] | None = None) -> "Holdfast":
        if environ is None:
            environ = {
                name.decode("utf-8", "surrogateescape"): value.decode("utf-8", "surrogateescape")
                for name, value in posix.environ.items()
            }
        root, client_dir = locate(environ)
        return cls(Home(root), client_dir, environ)
