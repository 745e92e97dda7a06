"""What the seed's two endpoints come to in plain FastAPI, with one committed insert for a save; for
`service.py` to compare with, and for `door.py` to show what nobody guards. Prints where it listens."""

import socket
import sqlite3
import sys

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI()
base = sqlite3.connect(sys.argv[1], isolation_level=None)
base.execute("pragma journal_mode=wal")
base.execute("pragma synchronous=normal")
base.execute("create table if not exists saves (id integer primary key, environment, task, context, tags)")


class AutoSaveRequest(BaseModel):
    environment: str
    used_tokens: int
    max_tokens: int = 200000
    inferred_task: str | None = None
    inferred_context: str | None = None


def status(percent: float) -> str:
    return "healthy" if percent < 50 else "warning" if percent < 70 else "critical"


@app.get("/context/usage")
async def usage(used_tokens: int | None = None, max_tokens: int = 200000) -> dict:
    if used_tokens is None:
        return {"error": "used_tokens required"}
    percent = used_tokens / max_tokens * 100
    return {
        "used": used_tokens,
        "max": max_tokens,
        "percent": round(percent, 1),
        "status": status(percent),
        "action": {"type": "save", "message": f"Context at {percent}%. Consider saving session."},
    }


@app.post("/context/auto-save")
async def auto_save(req: AutoSaveRequest) -> dict:
    percent = req.used_tokens / req.max_tokens * 100
    row = (req.environment, req.inferred_task, req.inferred_context, "auto-save")
    done = base.execute("insert into saves (environment, task, context, tags) values (?, ?, ?, ?)", row)
    return {
        "status": "saved",
        "session_id": str(done.lastrowid),
        "percent_at_save": round(percent, 1),
        "restart_command": f"rs {req.environment}",
        "message": f"Session saved. Run 'rs {req.environment}' to continue.",
    }


if __name__ == "__main__":
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    uvicorn.Server(uvicorn.Config(app, access_log=False, log_level="error")).run([listener])
