"""`report`: a session as one file that can be mailed. No script, no network; what it says is redacted."""

from __future__ import annotations

import os
from dataclasses import dataclass

from markupsafe import Markup

import holdfast
from holdfast.app import Holdfast
from holdfast.clock import now, rfc3339
from holdfast.disk import files
from holdfast.disk.home import is_safe_name
from holdfast.errors import BadInput, NotFound
from holdfast.ops.explain import Explanation, explain
from holdfast.ops.history import History, history
from holdfast.report import parts
from holdfast.report.markup import clock, joined, short_path, style

#: Before the style, so that the reader's own choice of light or dark holds without a script.
_PAGE = Markup(
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
    "<title>{title}</title>\n<style>\n{style}\n{dark}</style></head>\n"
    '<body><main class="hf">\n{body}\n<footer class="dim"><p>{footer}</p></footer>\n</main></body></html>\n'
)


@dataclass(frozen=True)
class Written:
    file: str
    session: str
    bytes: int

    def __str__(self) -> str:
        return f"{self.file} ({self.bytes:,} bytes)"


def report(app: Holdfast, what: str | None = None, *, output: str = "report.html") -> Written:
    """A session as one HTML file to keep or mail: its course, checkpoints, compactions, what fills it.

    Parameters
    ----------
    what
        The id of a session, or a transcript. Without it: the newest session.
    output
        The file to write.
    """
    if os.path.isdir(output):
        raise BadInput(f"--output is {output!r}, which is a folder; name a file, say {output}/report.html")
    given = _meant(what)
    course = history(app, **given)
    if (
        course.usage.transcript
        and os.path.exists(output)
        and os.path.samefile(output, course.usage.transcript)
    ):
        raise BadInput(f"{output} is the transcript itself: name another file for the report")
    held = explain(app, **given) if course.usage.transcript else None  # type: ignore[arg-type]
    page = written(course, held).encode("utf-8", "replace")
    path = os.path.abspath(output)
    files.replace(path, page, durable=False)
    return Written(path, course.session, len(page))


def _meant(what: str | None) -> dict[str, str]:
    if what is None:
        return {}
    if os.path.exists(what):
        return {"transcript": what}
    if "/" in what or what.endswith(".jsonl") or not is_safe_name(what):
        raise NotFound(f"{what!r} does not exist; `holdfast sessions` lists the sessions that do")
    return {"session": what}


def written(course: History, held: Explanation | None) -> str:
    cuts = joined(map(parts.compaction, course.compactions))
    none = Markup('<p class="empty">{}</p>').format("It was never compacted.")
    body = [
        parts.session_head(course, course.usage.model),
        parts.warnings(course.usage.degraded),
        Markup('<h2>Course</h2><div class="card">{}</div>').format(parts.course(course)),
        Markup("<h2>Compactions</h2>{}").format(cuts or none),
    ]
    if held:
        body.append(
            Markup('<h2>What fills the window</h2><div class="card">{}</div>').format(parts.fills(held))
        )
    body.append(
        Markup('<h2>{}</h2><div class="card">{}</div>').format(
            "Checkpoints" if course.known else "Checkpoints that would have been taken",
            parts.kept(course.checkpoints),
        )
    )
    made = Markup("Made {} by holdfast {}. Times are UTC.").format(
        clock(rfc3339(now())), holdfast.__version__
    )
    return str(
        _PAGE.format(
            title=Markup("holdfast: {}").format(short_path(course.project).striptags()),
            style=style(),
            dark=_dark(),
            body=joined(body),
            footer=made,
        )
    )


def _dark() -> Markup:
    """The same colours as on the pages, chosen by the reader's system: a file has no switch."""
    sheet = str(style())
    start = sheet.index("body.body--dark {") + len("body.body--dark ")
    rules = sheet[start : sheet.index("}", start) + 1]
    return Markup("@media (prefers-color-scheme: dark) {{ :root {} }}\n").format(Markup(rules))  # noqa: S704
