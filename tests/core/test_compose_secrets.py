"""What a checkpoint never says, wherever it stood."""

import json

import pytest

from composed import PROJECT, composer, edited, everything, ran, sections
from holdfast.core.quoted import LOOKED_AT
from session import Script, text, use

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


@pytest.mark.parametrize("most", [1 << 13, LOOKED_AT])
def test_a_secret_across_the_end_of_what_is_looked_at_is_not_told_in_half(most):
    """What is private is one word when it is told, so that what was cut stands near the beginning."""
    secret = SECRETS["github"]
    cut = f"<private>{'x ' * ((most - 44) // 2)}</private> use {secret} for it"
    script = Script()
    script.prompt(cut)
    ran(script, f"{cut}; deploy", "Exit code 1\nno", failed=True)
    script.answer(use("p", "ExitPlanMode", plan=cut))
    script.result("p")
    script.answer(use("a", "Agent", prompt=cut, subagent_type="Explore"))
    script.result("a", content=cut, result={"status": "completed", "agentId": "ag1"})
    script.answer(text(cut))
    made = composer(script)
    assert cut[most - 8 : most].strip() not in json.dumps(made.sections()) + made.summary()


def test_a_prompt_longer_than_what_is_looked_at_is_still_the_goal():
    script = Script()
    script.prompt("Build the tide table. " + "Here is more. " * 2000)
    assert sections(script)["Goal"][0].startswith("Build the tide table.")


@pytest.mark.parametrize("end", ["\n</private>", "", "\n</PRIVATE >\nFAILED it"])
@pytest.mark.parametrize("command", ["pytest -q", "deploy"])
def test_what_is_private_stays_so_where_its_beginning_is_cut_off(command, end):
    script = Script()
    script.prompt()
    ran(script, command, "Exit code 1\n<private>\n" + "diary\n" * 4000 + "my diary" + end, failed=True)
    told = json.dumps(sections(script))
    assert "diary" not in told
    assert ("FAILED it" in told) is ("FAILED" in end)


def test_an_output_whose_private_part_the_client_cut_is_told_from_behind_it():
    script = Script()
    script.prompt()
    ran(script, "pytest -q", "my diary\n</private>\nFAILED it", failed=True)
    told = json.dumps(sections(script))
    assert "diary" not in told
    assert "FAILED it" in told


def test_states_ids_and_kinds_are_no_place_for_a_secret_either():
    secret = SECRETS["github"]
    script = Script()
    script.prompt()
    script.answer(use("d", "TodoWrite", todos=[{"content": "x", "status": secret}]))
    script.result("d")
    script.answer(use("t", "TaskCreate", subject="tide"))
    script.result("t", result={"task": {"id": secret}})
    script.answer(use("a", "Agent", description="look", subagent_type=secret))
    script.result("a", result={"status": "async_launched", "isAsync": True, "agentId": secret})
    report = f"<task-id>{secret}</task-id><status>{secret}</status><result>done</result>"
    script.prompt(f"<task-notification>{report}</task-notification>", promptSource="system")
    made = composer(script)
    told = json.dumps(made.sections())
    assert secret[:12] not in told + json.dumps(made.steps())
    assert told.count("[redacted:github") >= 4
