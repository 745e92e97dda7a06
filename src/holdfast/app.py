"""Holdfast: where it lives and what it was told, settled once per process."""

import posix

from holdfast.disk.home import Home, locate
from holdfast.errors import BadInput


class Holdfast:
    __slots__ = ("client_dir", "environ", "home", "window")

    def __init__(self, home: Home, client_dir: str, environ: dict[str, str], window: int) -> None:
        self.home = home
        self.client_dir = client_dir
        self.environ = environ
        self.window = window  # the user's own word on the window's size; 0: none

    @classmethod
    def open(cls, environ: dict[str, str] | None = None) -> "Holdfast":
        if environ is None:
            environ = {
                name.decode("utf-8", "surrogateescape"): value.decode("utf-8", "surrogateescape")
                for name, value in posix.environ.items()
            }
        root, client_dir = locate(environ)
        return cls(Home(root), client_dir, environ, _window(environ.get("HOLDFAST_WINDOW", "")))


def _window(text: str) -> int:
    if not text:
        return 0
    if not (text.isascii() and text.isdecimal() and 0 < int(text) <= 100_000_000):
        raise BadInput(f"HOLDFAST_WINDOW is {text[:32]!r}; it takes a number of tokens, such as 200000")
    return int(text)
