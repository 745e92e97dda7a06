"""A checkpoint as it may be given to a session: verified, and written or approved by this user."""

from holdfast.core import checkpoint, workstate
from holdfast.core.plain import quoted
from holdfast.disk import checkpoints, marks
from holdfast.disk.home import Home
from holdfast.errors import NotFound


class Kept:
    """A checkpoint's bytes, judged. Of what does not verify, or is not ours, nothing is ever repeated:
    whoever wrote it may be speaking to the model."""

    __slots__ = ("fields", "is_trusted", "is_verified", "sections")

    def __init__(self, home: Home, data: bytes, stem: str) -> None:
        self.fields: dict = {}
        self.sections: dict[str, list[str]] = {}
        self.is_verified = not checkpoint.problems(data, stem)
        self.is_trusted = self.is_verified and marks.trust(home, data) != "foreign"
        if self.is_verified:
            made = checkpoint.parse(data, stem)
            self.fields, self.sections = made.fields, made.sections

    @property
    def work(self) -> str:
        """How its work stands: as was found out when it was taken, or, where it does not say, by what it
        holds."""
        said = str(self.fields.get("work", ""))
        known = said in workstate.STATES
        return said if known else workstate.of(self.sections, bool(self.fields["commit"]))

    @property
    def goal(self) -> str:
        """What it is about, for a list."""
        files = workstate.changed(self.sections)
        changes = f"Changes in {', '.join(files[:3])}" if files else ""
        return workstate.goal(self.sections) or changes or str(self.fields["summary"])

    def refusal(self, path: str) -> str:
        """Why it cannot be given to a session."""
        named = quoted(path)
        if not self.is_verified:
            return f"{named} is damaged or was changed, and is not used: holdfast verify {named}"
        return (
            f"{named} was not written by this user's holdfast, so what it says is not shown. Who knows "
            f"where it comes from can look at it, and then: holdfast checkpoint approve {named}"
        )


def look(home: Home, path: str) -> Kept:
    place, _, file = path.rpartition("/")
    try:
        with checkpoints.open_folder(place) as folder:
            data = folder.read(file, checkpoint.LARGEST)
    except FileNotFoundError:
        raise NotFound(f"{path} is gone; `holdfast checkpoint check` says what else is amiss") from None
    return Kept(home, data, file.removesuffix(checkpoints.SUFFIX))
