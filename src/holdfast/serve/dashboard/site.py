"""All pages put together: an application of its own, which the service has mounted where only who is known
gets."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from nicegui import ui

from holdfast.serve.dashboard import agents, checkpoints, health, memory, now, session
from holdfast.serve.dashboard.live import Live
from holdfast.serve.work import Work

_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#14606f"/>'
    '<path d="M9 7v18M23 7v18M9 17h14" stroke="#fff" stroke-width="4" stroke-linecap="round" fill="none"/></svg>'
)
#: Seconds a page that has lost its connection is kept for, and what it is told afterwards; else it is loaded anew.
_RECONNECTS_S, _MESSAGES = 5.0, 50


def build(work: Work, root: str) -> FastAPI:
    """`root`: what the path of every page begins with."""
    live = Live(work, root)
    for page in (now, session, checkpoints, memory, agents, health):
        page.add(live)
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    settings: dict[str, Any] = {"tailwind": False, "gzip_middleware_factory": None, "language": "en-US"}
    ui.run_with(
        app,
        title="holdfast",
        favicon=_ICON,
        binding_refresh_interval=None,
        reconnect_timeout=_RECONNECTS_S,
        message_history_length=_MESSAGES,
        show_welcome_message=False,
        **settings,
    )
    return app
