"""Holdfast: where it lives and what it was told, settled once per process."""

import posix

from holdfast.disk.home import Home, locate


class Holdfast:
    """`trouble` says what is wrong with the settings. A hook goes on without them; a person who
    asks is told. `in_hook`: somebody waits, and a disk that does not answer must not be waited for."""

    __slots__ = ("client_dir", "environ", "home", "in_hook", "trouble", "window")

    def __init__(self, home: Home, client_dir: str, environ: dict[str, str]) -> None:
        self.home = home
        self.client_dir = client_dir
        self.environ = environ
        self.window = 0  # the user's own word on the window's size; 0: none
        self.trouble = ""
        self.in_hook = False
        own = environ.get("HOLDFAST_WINDOW", "")
        if own.isascii() and own.isdecimal() and len(own) < 9 and int(own) >= 1000:
            self.window = int(own)
        elif own:
            self.trouble = f"HOLDFAST_WINDOW is {own[:32]!r}; it takes a number of tokens, such as 200000"

    @classmethod
    def open(cls, environ: dict[str, str] | None = None) -> "Holdfast":
        if environ is None:
            environ = {
                name.decode("utf-8", "surrogateescape"): value.decode("utf-8", "surrogateescape")
                for name, value in posix.environ.items()
            }
        root, client_dir = locate(environ)
        return cls(Home(root), client_dir, environ)
