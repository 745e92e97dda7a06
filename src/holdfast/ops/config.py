"""`config`: what every key is set to, and where that was said; config.yaml set, checked and compiled."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from holdfast.app import Holdfast
from holdfast.core.config import (
    DEFAULTS,
    HOME,
    KEYS,
    PREFIX,
    Config,
    expected,
    fallen,
    parse,
    variable,
    written,
)
from holdfast.disk import compiled, files
from holdfast.errors import BadInput, NotFound
from holdfast.ops import configfile, configtext
from holdfast.ops.configtext import Problem, nearest

_MOST_SHOWN = 20


@dataclass(frozen=True)
class Setting:
    key: str
    value: Any
    source: str
    default: Any
    takes: str
    variable: str
    what: str

    def __str__(self) -> str:
        return written(self.value)


@dataclass(frozen=True)
class Settings:
    file: str
    settings: list[Setting]
    trouble: str

    def __str__(self) -> str:
        rows = [(one.key, written(one.value), one.source, one.what) for one in self.settings]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = ["  ".join([*map(str.ljust, row, widths), row[3]]) for row in rows]
        return "\n".join(filter(None, [f"{self.file}\n", *lines, self.trouble and f"\n! {self.trouble}"]))


@dataclass(frozen=True)
class Checked:
    file: str
    ok: bool
    keys: int
    problems: list[Problem]

    @property
    def exit_code(self) -> int:
        return 0 if self.ok else 1

    def __str__(self) -> str:
        if self.ok:
            return f"{self.file}: {self.keys} of {len(DEFAULTS)} keys set, nothing wrong"
        more = [f"and {len(self.problems) - _MOST_SHOWN} more"] if self.problems[_MOST_SHOWN:] else []
        return "\n".join([*(f"{self.file}, {problem}" for problem in self.problems[:_MOST_SHOWN]), *more])


@dataclass(frozen=True)
class Changed:
    file: str
    key: str
    value: Any
    source: str
    changed: bool

    def __str__(self) -> str:
        said = f"{self.key} is {written(self.value)}"
        if self.source == "environment":
            return f"{said} all the same: {variable(self.key)} is set"
        return f"{said}{'' if self.changed else ', as it was'} ({self.source})"


def show(app: Holdfast) -> Settings:
    """What every key is set to, and where that was said: default, file, environment or flag."""
    return Settings(app.home.config, [_setting(app, key) for key in DEFAULTS], app.trouble)


def get(app: Holdfast, key: str) -> Setting:
    """What one key is set to.

    Parameters
    ----------
    key
        Its name, such as ladder.warning.
    """
    return _setting(app, _known(key))


def path(app: Holdfast) -> str:
    """Where config.yaml is, or would be."""
    return app.home.config


def check(app: Holdfast, file: str | None = None) -> Checked:
    """Whether a configuration is right; if not, what is wrong, and in which line. Exit code 0 or 1.

    Parameters
    ----------
    file
        Check this file. Without it: config.yaml in holdfast's home.
    """
    named = app.home.config if file is None else file
    if file is not None and not os.path.lexists(file):
        raise NotFound(f"{file!r} does not exist; without a name, {app.home.config} is checked")
    made = configfile.read(named)[0]
    return Checked(named, not made.problems, len(made.values), made.problems)


def put(app: Holdfast, key: str, value: str) -> Changed:
    """Set a key in config.yaml. Every other byte of the file stays as it is.

    Parameters
    ----------
    key
        Its name, such as ladder.warning.
    value
        What it is set to.
    """
    return _edited(app, key, _parsed(key, value))


def drop(app: Holdfast, key: str) -> Changed:
    """Take a key out of config.yaml: its default holds again.

    Parameters
    ----------
    key
        Its name, such as ladder.warning.
    """
    return _edited(app, _known(key), None)


def compile_now(app: Holdfast) -> Checked:
    """Make what hooks read of config.yaml. Every command does so by itself when it has changed."""
    if not os.path.isdir(app.home.root):  # nothing to compile, and not ours to make again after a purge
        return check(app)
    with files.Lock(app.home.config_lock):
        made = configfile.compiled(app.home)
    return Checked(app.home.config, not made.problems, len(made.values), made.problems)


def settled(app: Holdfast, flags: Iterable[str]) -> Holdfast:
    """The same with what config.yaml says now, and with what was given as KEY=VALUE behind a flag."""
    if app.compiled.is_stale or app.compiled.trouble:  # which another version of us may not mind
        app = _recompiled(app)
    app.trouble = "; ".join(filter(None, [app.trouble, *_misspelt(app.environ)]))
    given = {}
    for flag in flags:
        key, equals, value = flag.partition("=")
        if not equals:
            raise BadInput(f"--config {flag!r} sets nothing; it takes KEY=VALUE, such as ladder.warning=65")
        given[key] = _parsed(key, value)
    config = Config(app.config.file, app.config.environment, given)
    for _, _, what in fallen(config) if given else ():
        raise BadInput(what)
    app.config = config
    return app


class Current:
    """For whoever stays: settings are changed meanwhile."""

    def __init__(self, app: Holdfast) -> None:
        self._app, self._seen = app, _signature(app)

    def app(self) -> Holdfast:
        """With the settings as they are now. Wrong ones change nothing; `status` tells of them."""
        seen = _signature(self._app)
        if seen != self._seen:
            app = settled(Holdfast(self._app.home, self._app.client_dir, self._app.environ), ())
            app.config = Config(app.config.file, app.config.environment, self._app.config.flags)
            self._app, self._seen = app, seen
        return self._app


def _signature(app: Holdfast) -> Sequence[int]:
    try:
        return compiled.signature(app.home.config)
    except OSError:
        return ()


def _recompiled(app: Holdfast) -> Holdfast:
    try:
        compile_now(app)
    except (
        OSError
    ) as problem:  # a home that cannot be written, which `status` says; a file that can be read holds
        return _read_only(app, problem)
    return Holdfast(app.home, app.client_dir, app.environ)


def _read_only(app: Holdfast, problem: OSError) -> Holdfast:
    try:
        made = configfile.read(app.home.config)[0]
    except OSError:
        made = None
    if made is None or made.problems or fallen(Config(made.values, app.config.environment)):
        app.trouble = f"{app.home.config} cannot be compiled: {problem.strerror}"
    else:
        app.config, app.trouble = Config(made.values, app.config.environment), ""
    return app


def _misspelt(environ: dict[str, str]) -> Iterator[str]:
    """Variables that are nearly ours. Others with our prefix may be of anyone's scripts."""
    ours = {name.removeprefix(PREFIX) for name in (*map(variable, DEFAULTS), HOME)}
    theirs = (name.removeprefix(PREFIX) for name in environ if name.startswith(PREFIX))
    for name in theirs:
        near = get_close_matches(name, ours, 1, cutoff=0.8)
        if near and name not in ours:
            yield f"{PREFIX}{name} is set, but means nothing; did you mean {PREFIX}{near[0]}?"


def _parsed(key: str, value: str) -> Any:
    _known(key)
    try:
        return parse(key, value)
    except BadInput as problem:
        raise BadInput(f"{key} {problem}") from None


def _known(key: str) -> str:
    if key not in DEFAULTS:
        raise BadInput(f"there is no key {key!r}; {nearest(key)}")
    return key


def _setting(app: Holdfast, key: str) -> Setting:
    what = next(row[3] for row in KEYS if row[0] == key)
    return Setting(
        key, app.config[key], _source(app, key), DEFAULTS[key], expected(key), variable(key), what
    )


def _source(app: Holdfast, key: str) -> str:
    config = app.config
    layers = {"flag": config.flags, "environment": config.environment, "file": config.file}
    return next((name for name, layer in layers.items() if key in layer), "default")


def _yaml(key: str, value: Any) -> str:
    """A path may hold what means something in YAML; of the rest nothing does."""
    return json.dumps(value, ensure_ascii=False) if DEFAULTS[key] == "" else written(value)


def _edited(app: Holdfast, key: str, value: Any) -> Changed:
    """`value` None: the key is taken out."""
    files.make_dir(app.home.root)
    with files.Lock(app.home.config_lock):
        made, of = configfile.read(app.home.config)
        if made.problems:
            raise BadInput(f"{app.home.config}, {made.problems[0]} (nothing was changed)")
        wanted = {name: was for name, was in made.values.items() if name != key}
        wanted |= {} if value is None else {key: value}
        if wanted != made.values:
            text = (
                configtext.drop(made, key)
                if value is None
                else configtext.put(made, key, _yaml(key, value))
            )
            configfile.replace(app.home.config, of, text, wanted)
    now = settled(Holdfast(app.home, app.client_dir, app.environ), ())
    return Changed(app.home.config, key, now.config[key], _source(now, key), wanted != made.values)
