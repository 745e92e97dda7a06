"""What a checkpoint never says, wherever it stood."""

import json

import pytest

from composed import PROJECT, composer, edited, everything, ran, sections
from session import Script, use

SECRETS = {
    "github": "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8",
    "aws": "AKIA" + "Z7QK3MWP" + "X2VN5RTB",
    "slack": "xoxb-" + "2" * 12 + "-" + "3" * 12 + "-" + "aB3dE5gH7jK9mN1pQ3sT5vX7",
    "anthropic": "sk-ant-" + "api03-" + "aB3_dE5-gH7jK9mN1pQ3sT5vX7" * 3 + "AA",
    "jwt": ".".join(
        ("eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiIxMjM0NTY3ODkwIn0", "c2lnbmF0dXJlLXRoYXQtaXMtbG9uZw")
    ),
}


@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_is_in_no_section_and_no_summary(kind):
    made = composer(everything(SECRETS[kind]))
    told = json.dumps(made.sections()) + made.summary()
    core = SECRETS[kind][8:-4]
    assert core not in told
    assert told.count("[redacted:") >= 10


@pytest.mark.parametrize("kind", ["github", "aws"])
@pytest.mark.parametrize("before", [1, 5])
def test_a_secret_that_is_cut_in_two_is_not_told_either(kind, before):
    """Of a long output only the end is looked at: where it begins there may stand half a secret."""
    secret, most = SECRETS[kind], 1 << 16
    lines = "\n".join(f"line {number}" for number in range(20))
    rest = secret[before:] + " was refused\n" + lines
    output = "x" * 500 + secret[:before] + rest + "\n" * (most - len(rest))
    script = Script()
    script.prompt()
    ran(script, "deploy", output, failed=True)
    ran(script, "pytest deploy", "x" + secret + " " + "y" * (most - len(secret) + before - 2))
    told = json.dumps(sections(script))
    assert secret[before : before + 16] not in told
    assert secret[-16:] not in told


@pytest.mark.parametrize("begins", [1 << 16, (1 << 16) - (1 << 13)])
@pytest.mark.parametrize("before", [3, 5])
def test_a_secret_in_one_long_line_that_is_cut_in_two_is_not_told_either(begins, before):
    """What is looked at of a line without an end begins so far from it."""
    secret = SECRETS["github"]
    line = "y" * 9000 + " " + secret + "z".rjust(begins - len(secret) + before)
    script = Script()
    script.prompt()
    ran(script, "pytest deploy", line)
    ran(script, "deploy", line, failed=True)
    assert secret[before : before + 16] not in json.dumps(sections(script))


@pytest.mark.parametrize(
    "command",
    [
        "cat .env",
        "cat ./config/.env.production",
        "cat<.env",
        "cat .env|head",
        "source .env&&make",
        "grep -h TIDE= .env*",
        'cat "$HOME/.ssh/id_rsa"',
        "cat ~/.aws/credentials",
        "diff .env .env.example",
        "cd " + "x" * 200 + " && cat .env",
        "pytest --env-file=.env",
        "cat >.env <<EOF\nTIDE_NAME=harbour-master\nEOF",
        "openssl rsa -in server.key",
    ],
)
def test_what_key_files_hold_is_not_told(command):
    content = "TIDE_NAME=harbour-master"
    script = Script()
    script.prompt()
    ran(script, command, f"Exit code 1\n{content}", failed=True)
    ran(script, f"pytest; {command}", content)
    assert "harbour-master" not in json.dumps(sections(script))


@pytest.mark.parametrize("path", [".env", "b/id_ed25519", "a/server.pem", ".env.local", "credentials.json"])
def test_what_is_written_to_key_files_is_not_told(path):
    script = Script()
    script.prompt()
    edited(script, f"{PROJECT}/{path}", "TIDE=low", "TIDE=harbour-master", line=3)
    script.answer(use("w", "Write", file_path=f"{PROJECT}/{path}", content="TIDE=harbour-master"))
    script.result("w", result={"structuredPatch": []})
    script.answer(use("r", "Read", file_path=f"{PROJECT}/{path}"))
    script.result("r", content="TIDE=harbour-master and more", is_error=True)
    found = sections(script)
    assert found["What Changed"][0].startswith(f"[{path}:1] - the content of key files is never kept")
    assert "harbour-master" not in json.dumps(found)
