"""Every family of secrets is found, and nothing that only looks like one; what is left is untouched."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.core import families, redact
from holdfast.core.plain import one_line
from holdfast.core.redact import Redactor, is_key_file

SOURCES = str(Path(redact.__file__).parents[2])

# Put together here, so that no scanner takes this file for a leak.
MIXED = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0u1V2w3X4y5Z6"
HEXED = "0a1b2c3d4e5f60718293a4b5c6d7e8f9" * 4
GITHUB = "ghp_" + MIXED[:36]
PASSWORD = "Tiger" + "77!x"
JWT = "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0." + MIXED[:43]
LINE = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
PEM = "-----BEGIN " + "PRIVATE KEY-----\n" + f"{LINE}\n" * 3 + "-----END PRIVATE KEY-----"


def redacted(text: str) -> str:
    return Redactor(b"key").text(text)


def body(prefix: bytes, chars: str, size: int) -> str:
    """As many characters of the alphabet as asked for, two digits at least."""
    made = random.Random(prefix).choices(families.CHARS[chars].decode().replace(".", ""), k=size)
    made[3], made[7] = "37"
    return "".join(made)


@pytest.mark.parametrize("row", families.ROWS, ids=[row[0].decode() for row in families.ROWS])
def test_a_token_of_every_family_is_found_wherever_it_stands(row):
    prefix, _, chars, least, most, _ = row
    secret = prefix.decode() + body(prefix, chars, max(least, min(most, least + 2)))
    for place in ("{}", "\nx {} y", '\\"a\\": \\"{}\\"', "a\\n{}\\n", "k={}&b", "`{}`", "({}),"):
        made = redacted(place.format(secret))
        assert secret not in made
        assert made.count("[redacted:") == 1


def test_more_than_a_hundred_prefixes_are_known():
    assert len(families.ROWS) > 200
    assert len({row[0] for row in families.ROWS}) == len(families.ROWS)
    assert len({row[1] for row in families.ROWS}) > 100


def test_every_broken_prefix_begins_a_row():
    for broken in families.BROKEN:
        assert any(row[0].startswith(broken) for row in families.ROWS)


#: (what stands in the text, the secret in it)
SECRETS = {
    "a password in an environment file": ("DB_PASSWORD={}", PASSWORD),
    "one without digits on its own line": ("DB_PASSWORD={}\n", "correcthorse"),
    "one in single quotes": ("export DB_PASSWORD='{}'", PASSWORD),
    "one in YAML": ("db:\n  password: {}\n", PASSWORD),
    "one of letters alone in YAML": ("db:\n  password: {}\n", "supersafe"),
    "one in JSON": ('{{"password": "{}"}}', "hunter2"),
    "one in JSON in a string": (r"{{\"password\": \"{}\"}}", "hunter2"),
    "one in JSON in a string in a string": (r"{{\\\"password\\\": \\\"{}\\\"}}", "hunter2"),
    "one with an escaped quote in it": ('password = "{}"', 'ab\\"cd9!'),
    "one in camelCase": ("  dbPassword: '{}',", "letmeinplease"),
    "one in kebab-case": ("admin-password: {}", PASSWORD),
    "one behind a type": ('password: str = "{}"', PASSWORD),
    "one in Go": ('var password string = "{}"', PASSWORD),
    "one with := in Go": ('apiKey := "{}"', MIXED[:20]),
    "one in a Ruby hash": (":password => '{}'", PASSWORD),
    "one in an index": ('os.environ["DB_PASSWORD"] = "{}"', PASSWORD),
    "one in XML": ("<password>{}</password>", PASSWORD),
    "one in a properties file": ("spring.datasource.password={}", "Rosebud!x"),
    "one in a connection string": ("Server=x;User ID=a;Password={};Encrypt=True", PASSWORD),
    "one in a connection string, short key": ("Server=x;Uid=a;Pwd={};", PASSWORD),
    "one in .netrc": ("machine git.acme.dev login a password {}\n", PASSWORD),
    "one in a manifest of variables": ("- name: DB_PASSWORD\n  value: {}", PASSWORD),
    "one in escaped variables": ('"- name: DB_PASSWORD\\n  value: {}\\n"', PASSWORD),
    "one in JSON variables": ('{{"name": "DB_PASSWORD", "value": "{}"}}', PASSWORD),
    "one behind a flag": ("acme login --password {} --verbose", PASSWORD),
    "one behind a flag and =": ("acme login --password={}", PASSWORD),
    "one in SQL": ("CREATE USER a WITH PASSWORD '{}'", PASSWORD),
    "one in another SQL": ("CREATE USER 'a'@'%' IDENTIFIED BY '{}';", PASSWORD),
    "one in a define": ("define('DB_PASSWORD', '{}');", PASSWORD),
    "one in a tuple": ("requests.get(url, auth=('ann', '{}'))", MIXED[:14]),
    "one of Redis": ("requirepass {}\n", MIXED[:20]),
    "one of openssl": ("openssl enc -pass pass:{} -in a", PASSWORD),
    "one for curl on a second line": ("curl -s https://x.dev \\\n  -u ann:{}", PASSWORD),
    "one for curl in half a quote": ("curl -u ann:'{}' https://x.dev", PASSWORD),
    "a key in place of curl's user": ("curl -u {}: https://x.dev", MIXED[:24]),
    "one set by a command": ("aws configure set aws_secret_access_key {}", "wJal/" + MIXED[:35]),
    "one of PuTTY": ("Private-Lines: 2\n{}\nPrivate-MAC: x", LINE + "\n" + LINE),
    "one that is told": ("the password is {} by the way", "hunter2hunter"),
    "one after a line number": ("    12\u2192DB_PASSWORD={}", PASSWORD),
    "one in a diff": ("+DB_PASSWORD={}", PASSWORD),
    "one for docker run": ("docker run -e DB_PASSWORD={} x", PASSWORD),
    "one for curl": ("curl -sS -u admin:{} https://x.dev", PASSWORD),
    "one for curl in quotes": ("curl --user 'admin:{}' https://x.dev", PASSWORD),
    "one for mysql": ("mysql -u root -p{} orders", PASSWORD),
    "one for sshpass": ("sshpass -p '{}' ssh a@b", PASSWORD),
    "one in an address": ("postgres://app:{}@db.acme.dev:5432/orders", PASSWORD),
    "one in an address without a user": ("redis://:{}@cache:6379", PASSWORD),
    "a passphrase of words": ("passphrase: {}\n", "correct horse battery staple"),
    "a mnemonic": ("MNEMONIC={}\n", "able baker charlie delta echo fox golf hotel india juliet kilo lima"),
    "a client secret": ('client_secret = "{}"', MIXED[:30]),
    "a secret access key": ("aws_secret_access_key = {}", "wJal/" + MIXED[:35]),
    "one that begins with a slash": ("AWS_SECRET_ACCESS_KEY=/{}", MIXED[:39]),
    "an api key": ("x-api-key: {}", MIXED[:32]),
    "an api key that is a uuid": ("HEROKU_API_KEY={}", "0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d"),
    "a private key in hex": ('private_key = "0x{}"', HEXED[:64]),
    "a token": ("token: {}", MIXED[:24]),
    "a token that is a uuid": ('snykToken: "{}"', "0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d"),
    "a token in a query": ("https://x.dev/a?access_token={}&b=1", MIXED[:24]),
    "an npm token": ("//npm.acme.dev/:_authToken={}", "0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d"),
    "an account key": ("AccountName=a;AccountKey={};EndpointSuffix=x", MIXED + MIXED[:34] + "=="),
    "a shared access signature": (
        "https://a.blob.core.windows.net/b?sv=2023-01-03&sig={}",
        MIXED[:40] + "%3D",
    ),
    "a bearer header": ("Authorization: Bearer {}", MIXED[:30]),
    "a bearer header in code": ("headers={{'Authorization': 'Bearer {}'}}", MIXED[:30]),
    "a basic header": ("> Authorization: Basic {}", "dXNlcjpwYXNzd29yZDE="),
    "a token header": ('-H "Authorization: token {}"', HEXED[:40]),
    "a bearer token alone": ("sent Bearer {} to it", MIXED[:30]),
    "a session cookie": ("Cookie: theme=dark; sid={}; lang=en", MIXED[:26]),
    "a cookie that is set": ("Set-Cookie: connect.sid={}; Path=/; HttpOnly", MIXED[:26]),
    "a JWT": ("got {} back", JWT),
    "a JWT without its signature": ("got {} back", JWT.rsplit(".", 1)[0]),
    "a slack webhook": ("https://hooks.slack.com/services/{}", "T0AB12CD3/B0AB12CD3/" + MIXED[:24]),
    "a discord webhook": (
        "https://discord.com/api/webhooks/{}",
        "123456789012345678/" + MIXED + MIXED[:16],
    ),
    "a telegram bot": ("bot {} up", "123456789:AA" + MIXED[:33]),
    "a discord bot": ("bot {} up", "MTA" + MIXED[:21] + ".Gab1cd." + MIXED[:38]),
    "a terraform token": ("token {} ok", MIXED[:14] + ".atlasv1." + MIXED + MIXED[:15]),
    "a doppler token of one environment": ("got {} back", "dp.st.prd." + MIXED[:43]),
    "a snyk token": ("got {} back", "snyk_uat.98a6ee9e." + MIXED + MIXED[:28]),
    "a zoho token": ("got {} back", f"1000.{HEXED[:32]}.{HEXED[4:36]}"),
    "an origin key of cloudflare": ("got {} back", f"v1.0-{HEXED[:24]}-{HEXED[:128]}{HEXED[:18]}"),
    "an asana token": ("got 2/6611210637860603/4629315000000001:{} back", HEXED[:32]),
    "a rancher token": ("got token-ab1cd:{} back", (MIXED + MIXED)[:54].lower()),
    "an ngrok token": ("got {} back", "2" + MIXED[:26] + "_" + MIXED[:21]),
    "an azure client secret": ("got {} back", "abc8Q~" + MIXED[:34]),
    "a mailchimp key": ("key {} ok", HEXED[:32] + "-us12"),
    "a stripe webhook secret": ("got {} back", "whsec_" + "ab/+" + MIXED[:28]),
    "a fine-grained token": ("got {} back", "github_pat_" + MIXED[:22] + "_" + MIXED + "abc1234"),
    "a token in colour": ("\x1b[32m{}\x1b[0m", GITHUB),
    "a token in a query, escaped": ("a%3D{}", GITHUB),
    "a token behind an escaped sign": ("a\\u003d{}", GITHUB),
    "a token in an address": ("https://x-access-token:{}@github.com/a/b", GITHUB),
    "a token at a sentence's end": ("it is {}.", GITHUB),
    "a key block": ("a\n{}\nb", PEM),
    "a key block in JSON": ('{{"private_key": "{}"}}', PEM.replace("\n", "\\n")),
    "a key block in JSON in a string": (r"{{\"private_key\": \"{}\"}}", PEM.replace("\n", "\\\\n")),
    "a key block that is cut off": ("a\n{}\n", PEM[:190]),
    "a PGP block": ("{}", PEM.replace("PRIVATE KEY", "PGP PRIVATE KEY BLOCK")),
    "an encrypted block": (
        "{}",
        PEM.replace("KEY-----\nMII", "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,0A1B\n\nMII"),
    ),
    "a Kubernetes secret": ("kind: Secret\ndata:\n  tls: {}\n", "c2VjcmV0LXZhbHVl"),
    "a Kubernetes secret, kind last": ("data:\n  tls: {}\nkind: Secret\n", "c2VjcmV0LXZhbHVl"),
}


@pytest.mark.parametrize("case", SECRETS)
@pytest.mark.parametrize("escaped", [False, True])
def test_a_secret_is_replaced_and_its_surroundings_are_not(case, escaped):
    shape, secret = SECRETS[case]
    before, after = (part.replace("{{", "{").replace("}}", "}") for part in shape.split("{}"))
    if escaped:
        before, secret, after = (
            json.dumps(part, ensure_ascii=False)[1:-1] for part in (before, secret, after)
        )
    text = redacted(before + secret + after)
    assert secret not in text
    assert text.startswith(before[:-4])
    assert text.endswith(after)
    assert text.count("[redacted:") == 1


def test_a_numbered_key_block_is_one_secret():
    numbered = "\n".join(f"{n:>6}\u2192{line}" for n, line in enumerate(PEM.split("\n"), 1))
    assert LINE not in redacted(numbered)
    assert LINE not in redacted(json.dumps(numbered))


#: Text that must come out as it went in.
CLEAN = """
password: str
password: string;
password: Optional[str] = None
def login(user, password=None, token=''): ...
password = os.environ["DB_PASSWORD"]
password = getpass.getpass("Password: ")
password=password, secret=secret, token=token
token = process.env.GITHUB_TOKEN
token: ${{ secrets.GITHUB_TOKEN }}
PASSWORD=${DB_PASSWORD}
PASSWORD=$DB_PASSWORD
PASSWORD="$(cat /run/secrets/db)"
password_file: /run/secrets/db_password_2
API_KEY=<your-api-key>
API_KEY=your-api-key-here
api_key: "YOUR_API_KEY_123"
token: xxxxxxxxxxxxxxxxxxxx
token: ********
password: changeme
password: "Enter your password"
"password": "Password"
secret: example-secret-1
secretKeyRef: db-password-1
secretName: my-secret-2
max_tokens=4096
"input_tokens": 123456, "cache_read_input_tokens": 99999999
token_count: 512
tokens: 123456789
token_type: bearer
next_token: a1B2c3D4e5F6g7H8i9J0
page_token=a1B2c3D4e5F6g7H8i9J0
public_key: a1B2c3D4e5F6g7H8i9J0k1L2
cache-key: 0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d
key=value
{"key": "a1B2c3D4e5F6g7H8i9J0k1L2"}
--- PASS: TestToken_Refresh1 (0.00s)
pass: TestTrimLine
bypass: 123456789
monkey = a1B2c3D4e5F6g7H8i9J0
auth = "basic"
auth: oauth2
author: Jane1234Doe5678
commit 0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d
0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d
"integrity": "sha512-a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0u1V2w3X4y5Z6=="
sha256:0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9
postgres://user:password@localhost/db
postgres://user:pass@localhost/db
https://user:${TOKEN}@github.com
https://example.com:8080/a@b
git@github.com:acme/api.git
curl -u "$USER:$PASSWORD" https://x.dev
curl -u user https://x.dev
docker run -u 1000:1000 x
mkdir -p src/a1b2c3d4
Authorization: Bearer $TOKEN
Authorization: Bearer <token>
Authorization: Bearer ${token}
the Authorization header is a bearer token
'Authorization': 'Bearer ' + token
Authorization: AWS4-HMAC-SHA256
AKIAIOSFODNN7EXAMPLE
sk-xxxxxxxxxxxxxxxxxxxxxxxx
sk-estimator-doc-link-fitted-2
ghp_your_token_here_your_token_here_your
hf_transformers_model_name_of_some_length
s.handleUploadPackV2LSRefs(x)
"-----BEGIN PRIVATE KEY-----" in text and "-----END PRIVATE KEY-----" in text
-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbImEuanMiXX0
arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-1a2b3c
"AWS::IAM::AccessKey": "72c2d9dd90025459"
Cookie: theme=dark; lang=en
sessions are kept in a cookie: see below
password must be at least 12 characters
the secret: keep it simple
password = prompt("Password")
token = parser.next_token2()
private_key: PKCS7PrivateKeyTypes,
api_key=settings.API_KEY_V2,
secret=config.auth.secret1
if password == other_password1:
<password></password>
kind: SecretStore
"    pass","newString"
auth = () => { write("src/file1.ts", file1ContentV2) }
in their original positions--pass `strict=False`
('http', 'user/name', 'password', 'localhost')
const environmentKey = process.env.ACME_ENVIRONMENT_KEY!
docker build --secret id=GIT_AUTH_TOKEN,src=/home/a/work/_temp/x-YMb8nH .
'NSHTTPCookie', 'NSHTTPCookieStorage'
[redacted:password:1a2b]
password=[redacted:password:1a2b]
""".strip().split("\n")


@pytest.mark.parametrize("line", CLEAN)
def test_what_is_no_secret_is_left_alone(line):
    for text in (line, f"\n{line}\n", json.dumps(line)):
        assert redacted(text) == text


def test_a_text_without_secrets_is_returned_itself():
    text = "nothing to see here, token by token " * 9
    assert redacted(text) is text


def test_equal_secrets_stay_equal_and_others_differ():
    one, two, other = redacted(f"{GITHUB} {GITHUB} gho_{MIXED[:36]}").split()
    assert one == two != other
    assert one == redacted(f"TOKEN={GITHUB}").split("=")[1]


def test_a_placeholder_names_the_family_and_four_digits_of_a_keyed_digest():
    digest = hashlib.blake2b(GITHUB.encode(), key=b"key", digest_size=2).hexdigest()
    assert redacted(GITHUB) == f"[redacted:github:{digest}]"
    assert Redactor(b"other").text(GITHUB) != redacted(GITHUB)
    assert Redactor(b"k" * 99).text(GITHUB) == Redactor(b"k" * 64).text(GITHUB)


def test_a_key_block_is_the_same_secret_however_it_is_written():
    forms = (PEM, PEM.replace("\n", "\\n"), PEM.replace("\n", "\r\n"), PEM.replace("\n", "\n    "))
    assert len({redacted(form) for form in forms}) == 1


def test_an_allowed_secret_is_left_alone_and_only_that():
    made = Redactor(b"key", frozenset([GITHUB, PASSWORD]))
    assert made.text(f"{GITHUB} DB_PASSWORD={PASSWORD}") == f"{GITHUB} DB_PASSWORD={PASSWORD}"
    assert GITHUB + "x" not in made.text(GITHUB + "x")
    assert made.text(f"{GITHUB}x").startswith("[redacted:github:")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a <private>b</private> c", "a [private] c"),
        ("a <PRIVATE>b\nc</Private > d", "a [private] d"),
        ("a <private>b", "a [private]"),
        ("<private>a</private><private>b</private>", "[private][private]"),
        ("<private>a<private>b</private>c</private>d", "[private]d"),
        ("a </private> <privateer> <private", "a </private> <privateer> <private"),
        (f"<private>{GITHUB}</private>", "[private]"),
        ("", ""),
    ],
)
def test_private_parts_are_taken_out(text, expected):
    assert redacted(text) == expected
    assert redacted(expected) == expected


PIECES = st.sampled_from(
    [
        *(
            "password=",
            'password: "',
            "token: ",
            "api_key = '",
            "--password ",
            "Bearer ",
            "Cookie: a=",
            "://a:",
        ),
        *(
            "@",
            '"',
            "'",
            "\\",
            "\\n",
            "\n",
            " ",
            "=",
            ":",
            ";",
            ",",
            "/",
            ".",
            "-",
            "[",
            "]",
            "(",
            "{",
            "}",
            "$",
        ),
        *(
            GITHUB,
            JWT,
            PEM,
            PASSWORD,
            MIXED[:16],
            "sk-",
            "SG.",
            "eyJ",
            "curl -u a:",
            "kind: Secret\ndata:\n  a: ",
        ),
        *(
            "-----BEGIN ",
            "PRIVATE KEY-----",
            "-----END",
            "[redacted:",
            "[redacted:x:12ab]",
            ":12ab]",
            "[private]",
        ),
        *(
            "<private>",
            "</private>",
            "whsec_",
            "AKIA",
            "value: ",
            "hunter2",
            "secret",
            "key",
            "\ud800",
            "é",
            "\1",
        ),
    ]
)
TEXTS = st.lists(st.one_of(PIECES, PIECES, st.text(max_size=8)), max_size=14).map("".join)


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_redacting_twice_changes_nothing_more(text):
    once = redacted(text)
    assert redacted(once) == once


@settings(max_examples=300, deadline=None)
@given(TEXTS.filter(lambda text: "redacted:" not in text and "private" not in text.lower()))
def test_the_text_between_placeholders_is_untouched_and_in_order(text):
    at = 0
    for number, piece in enumerate(_outside(redacted(text))):
        found = text.find(piece, at)
        assert found == 0 if not number else found >= at
        at = found + len(piece)
    assert text.endswith(piece)


def _outside(text: str) -> list[str]:
    first, *rest = text.split("[redacted:")
    return [first, *(one.split("]", 1)[1] for one in rest)]


@pytest.mark.parametrize("lead", ["", "a", "ab"])
def test_a_long_secret_is_taken_out_whole_and_no_character_is_cut(lead):
    for shape in ("DB_PASSWORD={}\nok", 'password="{}" ok', "Authorization: Bearer {} ok"):
        for size in (40, 300, 3000):
            assert redacted(shape.format(lead + "é7xQ9" * size)).endswith("]" + shape.split("{}")[1])


def test_a_secret_found_by_its_key_is_found_without_it_too():
    text = redacted(f'search("A1", "{HEXED[:32]}")  # api_key: "{HEXED[:32]}"')
    assert HEXED[:32] not in text
    assert text.count("[redacted:api-key:") == 2


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=())))
def test_any_text_survives_lone_surrogates_included(text):
    assert redacted(f"{text} {GITHUB} {text}").count(text) >= 2 or "<private" in text.lower()


UNITS = [
    *(
        "eyJ",
        "eyJhbGciOiJub25lIn0.",
        "-----BEGIN ",
        "-----BEGIN RSA PRIVATE KEY-----",
        "password=",
        'password="',
    ),
    *(
        "password: ",
        "<private>",
        "<private></private>",
        "://",
        "://a:b@",
        '"',
        "\\",
        '\\"',
        "a",
        "-",
        "[redacted:",
    ),
    *(
        "[redacted:x:12ab]",
        "curl -u ",
        "Cookie: a=",
        "Authorization: Bearer ",
        "sk-",
        "secret",
        "x.",
        "kind: Secret\n",
    ),
    *("password value\n", "1//0", "Q~", ".atlasv1.", "whsec_", "DB_PASSWORD=hunter2x\n", "é"),
]


def growth(work, unit: str) -> float:
    """How much longer four times the text takes; the best of several, because the machine is shared."""

    def cost(size: int) -> float:
        text = unit * (size // len(unit))
        began = time.process_time()
        work(text)
        return time.process_time() - began

    small, large = [], []
    for _ in range(5):
        small.append(cost(20_000))
        large.append(cost(80_000))
        if min(large) <= 6 * min(small):
            break
    return min(large) / max(min(small), 1e-4)


@pytest.mark.parametrize("unit", UNITS)
def test_four_times_the_text_takes_about_four_times_as_long(unit):
    assert growth(redacted, unit) <= 8


def test_a_redactor_that_looks_ahead_without_bound_is_caught():
    def quadratic(text: str) -> None:
        at = text.find("password=")
        while at >= 0:
            text[at:].split("\n", 1)
            at = text.find("password=", at + 1)

    assert growth(quadratic, "password=") > 8


KEY_FILES = """
.env .env.local .env.production prod.env /a/.env server.pem tls.key id_rsa id_ed25519
/home/a/.ssh/id_ecdsa_work credentials credentials.json .aws/credentials /home/a/.aws/credentials
.netrc .npmrc .pypirc a.p12 a.pfx a.jks a.keystore .pgpass .htpasswd kubeconfig secrets.yaml
secrets.yml secrets.json config/secrets.toml service-account.json service-account-prod.json
service_account.json .docker/config.json /home/a/.kube/config C:\\Users\\a\\.ssh\\id_rsa ID_RSA
.git-credentials client_secret_123.json .envrc
""".split()
OTHER_FILES = """
.env.example .env.sample .env.template .env.example.local id_rsa.pub id_ed25519.pub server.pub
environment.py envoy.yaml src/credentials.py credentials_test.go keys.py key.ts id_map.py ids.txt
secrets.py secret.go docs/secrets.md config.json docker/config.json package.json .envoy monkey.py
a.env.example tokens.css
""".split()


@pytest.mark.parametrize("path", KEY_FILES)
def test_a_file_of_nothing_but_secrets_is_known_by_its_name(path):
    assert is_key_file(path)


@pytest.mark.parametrize("path", ["", "/", *OTHER_FILES])
def test_other_files_are_not_taken_for_key_files(path):
    assert not is_key_file(path)


def test_a_hook_that_redacts_loads_nothing_dear():
    program = f"""if True:
        import sys
        sys.path.insert(0, {SOURCES!r})
        bare = set(sys.modules)
        from holdfast.core.redact import Redactor
        print(Redactor(b"key").text({GITHUB!r}))
        print(*sorted(name for name in sys.modules.keys() - bare if not name.startswith("holdfast")))
    """
    command = [os.path.realpath(sys.executable), "-I", "-S", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    said, loaded = done.stdout.split("\n")[:2]
    assert said == redacted(GITHUB)
    assert set(loaded.split()) <= {"_blake2", "_sha2", "_sha256"}


UNSEEN = [chr(one) for one in range(0x110000) if not one_line(f"a{chr(one)}b").replace("ab", "")]


@pytest.mark.parametrize("unseen", ["\u200b", "\u00ad", "\ufeff", "\ufe0f", "\U000e0041", "\u200b\ufe0f"])
def test_a_secret_parted_by_what_is_not_shown_is_found_as_it_is_shown(unseen):
    whole = redacted(f"the token {GITHUB} here")
    assert redacted(f"the token {GITHUB[:14]}{unseen}{GITHUB[14:]} here") == whole
    assert redacted(f"the token {unseen.join(GITHUB)} here") == whole
    assert redacted(f"pass{unseen}word = {PASSWORD}") == redacted(f"password = {PASSWORD}")
    assert redacted(f"<pri{unseen}vate>mine</private> x") == "[private] x"


def test_whatever_is_not_shown_parts_no_secret():
    assert len(UNSEEN) > 4000
    for unseen in [one for one in UNSEEN if not one.isascii()]:
        assert GITHUB not in one_line(redacted(f"{GITHUB[:14]}{unseen}{GITHUB[14:]}"))


def test_a_secret_that_only_what_is_not_shown_parts_from_a_word_is_found_too():
    for made in (f"word\u200b{GITHUB}", f"{GITHUB}\u200bword", f"a\u200b{GITHUB}\u00ad\ufeffb {GITHUB}"):
        assert GITHUB not in one_line(redacted(made))
