"""Where holdfast keeps its files. Paths are plain strings: hooks never pay for pathlib."""

import posix

from holdfast.errors import BadInput

_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")


def locate(environ: dict[str, str]) -> tuple[str, str]:
    """(home of holdfast, configuration folder of the client)."""
    client = environ.get("CLAUDE_CONFIG_DIR") or user_home(environ) + "/.claude"
    if not client.startswith("/"):  # as the client reads it
        client = f"{posix.getcwd()}/{client}"
    home = environ.get("HOLDFAST_HOME") or client + "/holdfast"
    if not home.startswith("/"):  # never the folder a hook happens to run in
        home = f"{user_home(environ)}/{home}"
    return home, client


def user_home(environ: dict[str, str]) -> str:
    home = environ.get("HOME", "")
    if not home.startswith("/"):
        import pwd

        try:
            home = pwd.getpwuid(posix.getuid()).pw_dir
        except KeyError:
            home = "/"  # a user without a name or a home: nothing can be kept, but nothing breaks
    return home.rstrip("/")


def is_safe_name(text: object) -> bool:
    """Whether an id from outside may become the name of a folder."""
    return type(text) is str and 0 < len(text) <= 128 and text[0] not in ".-" and _SAFE.issuperset(text)


class Home:
    __slots__ = ("root",)

    def __init__(self, root: str) -> None:
        self.root = root

    @property
    def sessions(self) -> str:
        return self.root + "/sessions"

    @property
    def trail(self) -> str:
        return self.root + "/events.jsonl"

    @property
    def config(self) -> str:
        return self.root + "/config.yaml"

    @property
    def compiled(self) -> str:
        return self.root + "/config.json"

    @property
    def config_lock(self) -> str:
        return self.root + "/config.lock"

    @property
    def checkpoints(self) -> str:
        return self.root + "/checkpoints"

    @property
    def index(self) -> str:
        return self.checkpoints + "/index.jsonl"

    @property
    def scans(self) -> str:
        return self.root + "/scans"

    @property
    def board(self) -> str:
        return self.root + "/board"

    @property
    def outbox(self) -> str:
        return self.root + "/outbox"

    @property
    def store(self) -> str:
        return self.root + "/store.db"

    @property
    def spool(self) -> str:
        return self.root + "/spool"

    @property
    def noted(self) -> str:
        return self.root + "/memory-spool.jsonl"

    @property
    def memory(self) -> str:
        return self.root + "/memory.db"

    @property
    def workflows(self) -> str:
        return self.root + "/workflows"

    def session(self, session: str, agent: str = "") -> str:
        """The folder of a session, or of one subagent in it: what happens in one never touches
        the other."""
        for name in (session, agent or "main"):
            if not is_safe_name(name):
                raise BadInput(
                    "that cannot be a session or agent id: ids are at most 128 letters, digits, - _ ."
                )
        folder = self.sessions + "/" + session
        return folder + "/agents/" + agent if agent else folder
