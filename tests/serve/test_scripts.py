"""Scripts that were written for such a service work with ours as they are; only the token is added."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from door import Service
from repository import Repository, saved

pytestmark = pytest.mark.skipif(
    not (shutil.which("curl") and shutil.which("jq")), reason="needs curl and jq"
)
MONITOR = r"""#!/bin/bash
# Called by Claude Code to check context and auto-save if needed

ENV="${CONTEXTS_ENV:-development}"
CONTEXTS_URL="${CONTEXTS_URL:-http://localhost:8100}"

# Get context usage from Claude Code (passed as args)
USED_TOKENS="$1"
MAX_TOKENS="${2:-200000}"

if [ -z "$USED_TOKENS" ]; then
    echo "Usage: context-monitor.sh <used_tokens> [max_tokens]"
    exit 1
fi

# Check thresholds
RESPONSE=$(curl -s "$CONTEXTS_URL/context/usage?used_tokens=$USED_TOKENS&max_tokens=$MAX_TOKENS")
ACTION=$(echo "$RESPONSE" | jq -r '.action.type')

if [ "$ACTION" = "save_and_restart" ]; then
    echo "Context critical ($USED_TOKENS/$MAX_TOKENS). Auto-saving..."
    curl -s -X POST "$CONTEXTS_URL/context/auto-save" \
        -H "Content-Type: application/json" \
        -d "{\"environment\": \"$ENV\", \"used_tokens\": $USED_TOKENS, \"max_tokens\": $MAX_TOKENS}"
    echo ""
    echo "Session saved. Recommend: rs $ENV"
elif [ "$ACTION" = "save" ]; then
    echo "Context warning ($USED_TOKENS/$MAX_TOKENS). Consider: ss"
fi
"""
COMMITTED = r"""#!/bin/bash
# Git post-commit hook - save session state

ENV="${CONTEXTS_ENV:-development}"
CONTEXTS_URL="${CONTEXTS_URL:-http://localhost:8100}"

COMMIT_SHA=$(git rev-parse HEAD)
COMMIT_MSG=$(git log -1 --pretty=%B | head -1)
BRANCH=$(git branch --show-current)
FILES_CHANGED=$(git diff-tree --no-commit-id --name-only -r HEAD | wc -l)

curl -s -X POST "$CONTEXTS_URL/hooks/git-commit" \
    -H "Content-Type: application/json" \
    -d "{
        \"environment\": \"$ENV\",
        \"commit_sha\": \"$COMMIT_SHA\",
        \"commit_message\": \"$COMMIT_MSG\",
        \"branch\": \"$BRANCH\",
        \"files_changed\": $FILES_CHANGED
    }" > /dev/null

echo "Session saved at commit ${COMMIT_SHA:0:8}"
"""


def with_token(script: str) -> str:
    return script.replace("curl -s", 'curl -s -H "Authorization: Bearer $TOKEN"')


def run(script: str, service: Service, environment: str, *words: str, at: Path | None = None) -> list[str]:
    environ = {
        "PATH": os.environ["PATH"],
        "CONTEXTS_URL": service.url,
        "CONTEXTS_ENV": environment,
        "TOKEN": service.token,
    }
    argv = ["bash", "-c", script, "script", *words]
    done = subprocess.run(argv, cwd=at, env=environ, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_a_monitor_in_shell_warns_and_saves(service: Service) -> None:
    def monitor(*words: str) -> list[str]:
        return run(with_token(MONITOR), service, "scripted", *words)

    assert monitor() == ["Usage: context-monitor.sh <used_tokens> [max_tokens]"]
    assert monitor("139999") == []
    assert monitor("140000") == ["Context warning (140000/200000). Consider: ss"]
    assert saved(service.home, "scripted") == []
    first, answer, last = monitor("90", "100")
    assert (first, last) == (
        "Context critical (90/100). Auto-saving...",
        "Session saved. Recommend: rs scripted",
    )
    (kept,) = saved(service.home, "scripted")
    assert json.loads(answer)["session_id"] == kept["id"]
    assert json.loads(answer)["restart_command"] == "rs scripted"


def test_without_the_token_it_saves_nothing(service: Service) -> None:
    assert run(MONITOR, service, "nobodys", "190000") == []
    assert saved(service.home, "nobodys") == []


def test_a_hook_of_git_in_shell_saves_a_commit(service: Service, tmp_path: Path) -> None:
    project = Repository(tmp_path / "project", tmp_path / "home", hooked=False)
    project.commit("Begin")  # of the first one that script sees no files
    commit = project.commit("Dredge the lock")
    said = run(with_token(COMMITTED), service, "committed", at=project.root)
    assert said == [f"Session saved at commit {commit[:8]}"]
    (kept,) = saved(service.home, "committed")
    assert kept["task"] == "Commit: Dredge the lock"
    assert kept["context"] == f"Branch: main, SHA: {commit[:8]}, Files: 1"
    assert kept["tags"] == ["git-commit", "main", commit[:8]]
