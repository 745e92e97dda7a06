"""schemathesis over the whole of /openapi.json, against a real service in whose home much has happened.

Nothing that the description allows, or forbids, may end in a server error; every answer is one that it
describes, with the fields and types it says; nothing is answered without the token.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from door import Service, ask, post, request, serving
from harness import LAUNCH, PYTHON, REPO

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "missing_required_header",
    "ignored_auth",
)
#: It has no end.
ENDLESS = "/events/stream"


def live(home: Path) -> None:
    """A session with a checkpoint, as its hooks leave it."""
    transcript = home.parent / "session.jsonl"
    transcript.write_bytes((REPO / "examples/session.jsonl").read_bytes())
    environ = {"HOLDFAST_HOME": str(home), "HOME": str(home.parent)}
    for event in ('"SessionStart","source":"startup"', '"Stop"', '"PreCompact","trigger":"manual"'):
        said = (
            f'{{"session_id":"s1","transcript_path":"{transcript}","cwd":"{home.parent}",'
            f'"hook_event_name":{event}}}'
        )
        argv = [PYTHON, "-I", "-S", str(LAUNCH)]
        subprocess.run(argv, input=said.encode(), env=environ, check=True, capture_output=True)


def run(service: Service, examples: int, seed: int) -> subprocess.CompletedProcess[str]:
    saved = [service.host, service.bearer, ("Content-Type", "application/json")]
    ask(service.port, post("/context/auto-save", saved, b'{"environment":"development","used_tokens":1}'))
    schema = service.home.parent / "openapi.json"
    schema.write_bytes(
        ask(service.port, request("GET", "/openapi.json", [service.host, service.bearer])).body
    )
    argv = [sys.executable, "-m", "schemathesis.cli", "run", str(schema), "--url", service.url]
    argv += ["--header", ": ".join(service.bearer), "--checks", ",".join(CHECKS), "--exclude-path", ENDLESS]
    argv += ["--max-examples", str(examples), "--seed", str(seed), "--generation-database", "none"]
    argv += ["--continue-on-failure", "--no-color", "--phases", "examples,coverage,fuzzing"]
    argv += ["--suppress-health-check", "all", "--warnings", "off"]
    return subprocess.run(argv, cwd=service.home.parent, capture_output=True, text=True, check=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--examples", type=int, default=100, help="for every operation")
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # what a relative path leads to
        home = Path(folder) / "home"
        live(home)
        with serving(home) as service:
            done = run(service, wanted.examples, wanted.seed)
    print(done.stdout, done.stderr)
    raise SystemExit(done.returncode)


if __name__ == "__main__":
    main()
