"""Made secrets in the shapes their providers document, and the texts of a session they turn up in.

Written from the providers' pages and not from holdfast's table, so that the one can be held against the
other. Everything comes from a seed; nothing here has ever been a live credential.
"""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable
from typing import NamedTuple

DIGITS, HEX = string.digits, "0123456789abcdef"
ALNUM = string.ascii_letters + DIGITS
URLSAFE = ALNUM + "_-"
UPPER = string.ascii_uppercase + DIGITS
LOWER = string.ascii_lowercase + DIGITS
BASE32 = string.ascii_uppercase + "234567"

_WORDS = (
    "the worker reads its queue and retries what failed then reports how long each step took while the "
    "deploy waits for a green build so nobody has to watch it by hand again and again until monday"
).split()


class Planted(NamedTuple):
    family: str
    secret: str  # what must not be readable afterwards
    text: str  # what it stands in
    escaped: bool


class Maker:
    def __init__(self, seed: int = 1) -> None:
        self.random = random.Random(seed)

    def some(self, alphabet: str, least: int, most: int = 0) -> str:
        size = self.random.randint(least, most or least)
        return "".join(self.random.choices(alphabet, k=size))

    def uuid(self) -> str:
        made = self.some(HEX, 32)
        return "-".join((made[:8], made[8:12], "4" + made[13:16], "a" + made[17:20], made[20:]))

    def base64(self, size: int) -> str:
        return base64.b64encode(self.random.randbytes(size)).decode()

    def urlsafe(self, size: int) -> str:
        return base64.urlsafe_b64encode(self.random.randbytes(size)).decode().rstrip("=")

    def words(self, count: int) -> str:
        return " ".join(self.random.choices(_WORDS, k=count))

    def jwt(self) -> str:
        def part(value: object) -> str:
            return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

        head = part({"alg": self.random.choice(["HS256", "RS256"]), "typ": "JWT"})
        body = part({"sub": self.some(DIGITS, 10), "iat": 1_700_000_000, "iss": "https://id.acme.dev"})
        return f"{head}.{body}.{self.urlsafe(self.random.choice([32, 256]))}"

    def pem(self) -> str:
        kind = self.random.choice(["RSA ", "EC ", "OPENSSH ", "", "ENCRYPTED "])
        body = self.base64(self.random.randint(120, 1200))
        lines = [body[i : i + 64] for i in range(0, len(body), 64)]
        return "\n".join((f"-----BEGIN {kind}PRIVATE KEY-----", *lines, f"-----END {kind}PRIVATE KEY-----"))

    def password(self) -> str:
        """As people and generators make them."""
        name = self.random.choice(["Tiger", "rosebud", "Karla", "summer", "Wolke", "mango", "Blizzard"])
        kinds: list[Callable[[], str]] = [
            lambda: name + self.some(DIGITS, 2, 4) + self.random.choice("!#$%*?"),
            lambda: self.some(ALNUM, 12, 24),
            lambda: self.some(ALNUM + "!#%*+?@^~", 14, 20).replace("@", "R").replace("#", "S"),
            lambda: name.lower() + "-" + self.some(LOWER, 5) + "-" + self.some(DIGITS, 3),
        ]
        return self.random.choice(kinds)()


Make = Callable[[Maker], str]

#: Tokens that carry a mark of their own. (what the environment calls them, how they are made)
MARKED: dict[str, tuple[str, Make]] = {
    "aws access key": (
        "AWS_ACCESS_KEY_ID",
        lambda m: m.random.choice(["AKIA", "ASIA"]) + m.some(BASE32, 16),
    ),
    "github": (
        "GITHUB_TOKEN",
        lambda m: m.random.choice("ghp gho ghu ghs ghr".split()) + "_" + m.some(ALNUM, 36),
    ),
    "github fine-grained": ("GH_TOKEN", lambda m: f"github_pat_{m.some(ALNUM, 22)}_{m.some(ALNUM, 59)}"),
    "gitlab": (
        "GITLAB_TOKEN",
        lambda m: m.random.choice(["glpat-", "gldt-", "glrt-"]) + m.some(URLSAFE, 20),
    ),
    "slack bot": (
        "SLACK_BOT_TOKEN",
        lambda m: f"xoxb-{m.some(DIGITS, 12)}-{m.some(DIGITS, 13)}-{m.some(ALNUM, 24)}",
    ),
    "slack webhook": (
        "SLACK_WEBHOOK_URL",
        lambda m: (
            "https://hooks.slack.com/services/"
            + "/".join(("T0" + m.some(UPPER, 9), "B0" + m.some(UPPER, 9), m.some(ALNUM, 24)))
        ),
    ),
    "stripe": (
        "STRIPE_KEY",
        lambda m: m.random.choice(["sk_live_", "sk_test_", "rk_live_"]) + m.some(ALNUM, 24, 99),
    ),
    "openai": ("OPENAI_API_KEY", lambda m: f"sk-proj-{m.some(URLSAFE, 74)}T3BlbkFJ{m.some(URLSAFE, 74)}"),
    "openai, older": ("OPENAI_API_KEY", lambda m: f"sk-{m.some(ALNUM, 20)}T3BlbkFJ{m.some(ALNUM, 20)}"),
    "anthropic": ("ANTHROPIC_API_KEY", lambda m: f"sk-ant-api03-{m.some(URLSAFE, 93)}AA"),
    "huggingface": ("HF_TOKEN", lambda m: "hf_" + m.some(string.ascii_letters, 34)),
    "google api": ("GOOGLE_API_KEY", lambda m: "AIza" + m.some(URLSAFE, 35)),
    "google oauth": ("GOOGLE_SECRET", lambda m: "GOCSPX-" + m.some(URLSAFE, 28)),
    "npm": ("NPM_TOKEN", lambda m: "npm_" + m.some(ALNUM, 36)),
    "pypi": ("TWINE_PASSWORD", lambda m: "pypi-AgEIcHlwaS5vcmc" + m.some(URLSAFE, 100, 180)),
    "sendgrid": ("SENDGRID_API_KEY", lambda m: f"SG.{m.some(URLSAFE, 22)}.{m.some(URLSAFE, 43)}"),
    "twilio": ("TWILIO_API_KEY_SID", lambda m: "SK" + m.some(HEX, 32)),
    "mailgun": ("MAILGUN_API_KEY", lambda m: "key-" + m.some(HEX, 32)),
    "mailchimp": ("MAILCHIMP_API_KEY", lambda m: f"{m.some(HEX, 32)}-us{m.random.randint(1, 21)}"),
    "digitalocean": ("DIGITALOCEAN_TOKEN", lambda m: "dop_v1_" + m.some(HEX, 64)),
    "shopify": ("SHOPIFY_TOKEN", lambda m: m.random.choice(["shpat_", "shpss_"]) + m.some(HEX, 32)),
    "databricks": ("DATABRICKS_TOKEN", lambda m: "dapi" + m.some(HEX, 32)),
    "docker hub": ("DOCKER_PAT", lambda m: "dckr_pat_" + m.some(URLSAFE, 27)),
    "vault": ("VAULT_TOKEN", lambda m: "hvs." + m.some(URLSAFE, 90, 110)),
    "terraform": ("TFE_TOKEN", lambda m: f"{m.some(ALNUM, 14)}.atlasv1.{m.some(ALNUM, 67)}"),
    "linear": ("LINEAR_API_KEY", lambda m: "lin_api_" + m.some(ALNUM, 40)),
    "notion": ("NOTION_TOKEN", lambda m: "ntn_" + m.some(ALNUM, 46)),
    "atlassian": (
        "JIRA_API_TOKEN",
        lambda m: f"ATATT3xFfGF0{m.some(URLSAFE, 171)}={m.some(UPPER[:6] + DIGITS, 8)}",
    ),
    "telegram": (
        "TELEGRAM_BOT_TOKEN",
        lambda m: f"{m.some('123456789', 1)}{m.some(DIGITS, 9)}:AA{m.some(URLSAFE, 33)}",
    ),
    "discord": (
        "DISCORD_TOKEN",
        lambda m: f"M{m.some(ALNUM, 23)}.G{m.some(URLSAFE, 5)}.{m.some(URLSAFE, 38)}",
    ),
    "grafana": ("GRAFANA_TOKEN", lambda m: f"glsa_{m.some(ALNUM, 32)}_{m.some(HEX, 8)}"),
    "newrelic": ("NEW_RELIC_API_KEY", lambda m: "NRAK-" + m.some(UPPER, 27)),
    "square": ("SQUARE_TOKEN", lambda m: "EAAA" + m.some(URLSAFE, 60)),
    "facebook": ("FB_TOKEN", lambda m: "EAA" + m.some(ALNUM, 150, 200)),
    "age": ("SOPS_AGE_KEY", lambda m: "AGE-SECRET-KEY-1" + m.some("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)),
    "jwt": ("SESSION_JWT", Maker.jwt),
}

#: Values nothing tells but their key. (a name as it is spelled in the environment, how they are made)
KEYED: dict[str, tuple[str, Make]] = {
    "password": ("DB_PASSWORD", Maker.password),
    "aws secret key": ("AWS_SECRET_ACCESS_KEY", lambda m: m.base64(30)),
    "azure storage": ("AZURE_STORAGE_ACCOUNT_KEY", lambda m: m.base64(64)),
    "azure client secret": (
        "AZURE_CLIENT_SECRET",
        lambda m: f"{m.some(ALNUM, 3)}8Q~{m.some(URLSAFE + '~.', 33)}a",
    ),
    "datadog": ("DD_API_KEY", lambda m: m.some(HEX, 32)),
    "cloudflare": ("CLOUDFLARE_API_TOKEN", lambda m: m.some(URLSAFE, 40)),
    "snyk": ("SNYK_TOKEN", Maker.uuid),
    "okta": ("OKTA_API_TOKEN", lambda m: "00" + m.some(URLSAFE, 40)),
    "session secret": ("SESSION_SECRET", lambda m: m.some(HEX, 64)),
    "codecov": ("CODECOV_TOKEN", Maker.uuid),
    "twilio auth": ("TWILIO_AUTH_TOKEN", lambda m: m.some(HEX, 32)),
}


def _camel(name: str) -> str:
    first, *rest = name.lower().split("_")
    return first + "".join(map(str.capitalize, rest))


def _assignments(name: str, secret: str) -> list[str]:
    """A key and its value as the files of a project write them."""
    low, camel = name.lower(), _camel(name)
    return [
        f"{name}={secret}",
        f'{name}="{secret}"',
        f"export {name}='{secret}'",
        f"{low}: {secret}",
        f'    {camel}: "{secret}",',
        f'{{"{low}": "{secret}", "retries": 3}}',
        f'{{\n  "{camel}": "{secret}"\n}}',
        f"{low} = '{secret}'  # rotate me",
        f'const {camel} = "{secret}";',
        f'var {camel} string = "{secret}"',
        f'os.environ["{name}"] = "{secret}"',
        f'{low}: str = "{secret}"',
        f"      - name: {name}\n        value: {secret}",
        f"    environment:\n      - {name}={secret}",
        f"    12\u2192{name}={secret}",
        f"docker run -e {name}={secret} acme/api:1.4",
        f"+{name}={secret}",
        f"ENV {name}={secret}",
    ]


def _mentions(secret: str) -> list[str]:
    """A token that stands alone, as only a marked one can."""
    return [
        f"2026-02-03T10:11:12Z INFO client: using {secret} for acme",
        f"remote: https://oauth2:{secret}@git.acme.dev/api.git",
        f"curl -H 'Authorization: Bearer {secret}' https://api.acme.dev/v1/me",
        f"error: 401 for key {secret}: not allowed",
        f"here is the one you asked for: {secret}. Please keep it safe.",
        f"- `{secret}` (read only)",
        f"login --with-token <<< {secret}",
    ]


def _pem(maker: Maker) -> tuple[str, str]:
    key = maker.pem()
    lines = key.split("\n")
    kinds = [
        key,
        "\n".join(f"{n:>6}\u2192{line}" for n, line in enumerate(lines, 1)),
        "\n".join(lines[: max(4, len(lines) // 2)]) + "\n... (truncated)",
        json.dumps({"type": "service_account", "private_key": key + "\n"}),
        "tls.key: |\n" + "\n".join("    " + line for line in lines),
    ]
    return lines[2], maker.random.choice(kinds)


def _structured(maker: Maker) -> dict[str, Callable[[], tuple[str, str]]]:
    def url() -> tuple[str, str]:
        secret = maker.password().replace("?", "A").replace("#", "B").replace("%", "C")
        scheme = maker.random.choice(["postgres", "mysql", "redis", "amqp", "mongodb+srv", "https"])
        return secret, f"DATABASE={scheme}://app:{secret}@db.acme.dev:5432/orders?ssl=1"

    def basic() -> tuple[str, str]:
        secret = base64.b64encode(f"app:{maker.password()}".encode()).decode()
        return (
            secret,
            f"> POST /v1/orders HTTP/1.1\n> Host: api.acme.dev\n> Authorization: Basic {secret}\n>",
        )

    def bearer() -> tuple[str, str]:
        secret = maker.some(ALNUM + "-._~", 32, 64).strip(".-~_") + "a1"
        kinds = [
            f'-H "Authorization: Bearer {secret}"',
            f"'authorization': 'Bearer {secret}'",
            f"authorization: bearer {secret}",
        ]
        return secret, "curl -s " + maker.random.choice(kinds) + " https://api.acme.dev/me"

    def curl() -> tuple[str, str]:
        secret = maker.password().replace("!", "A").replace("$", "B").replace("*", "C").replace("?", "D")
        flag = maker.random.choice(["-u ", "--user ", "-u '"])
        return (
            secret,
            f"$ curl -sS {flag}deploy:{secret}{flag[3:].strip(' ser')} https://repo.acme.dev/x.tgz",
        )

    def header() -> tuple[str, str]:
        secret = maker.some(ALNUM, 32, 40)
        return secret, f"GET /v2/items\nHost: api.acme.dev\nX-Api-Key: {secret}\nAccept: */*"

    def cookie() -> tuple[str, str]:
        secret = maker.some(ALNUM, 24, 40)
        name = maker.random.choice(["sessionid", "sid", "JSESSIONID", "connect.sid"])
        return secret, maker.random.choice(
            [
                f"Cookie: theme=dark; {name}={secret}; lang=en",
                f"Set-Cookie: {name}={secret}; Path=/; HttpOnly",
            ]
        )

    def connection() -> tuple[str, str]:
        secret = maker.password().replace("'", "").replace('"', "")
        key = maker.random.choice(["Password", "Pwd"])
        return (
            secret,
            f"Server=tcp:sql.acme.dev,1433;Database=orders;User ID=app;{key}={secret};Encrypt=True;",
        )

    def azure() -> tuple[str, str]:
        secret = maker.base64(64)
        ends = "EndpointSuffix=core.windows.net"
        return secret, f"DefaultEndpointsProtocol=https;AccountName=acme;AccountKey={secret};{ends}"

    def sas() -> tuple[str, str]:
        secret = maker.base64(32).replace("+", "%2B").replace("/", "%2F").replace("=", "%3D")
        return (
            secret,
            f"https://acme.blob.core.windows.net/b/x.zip?sv=2023-01-03&se=2026-01-01&sr=b&sp=r&sig={secret}",
        )

    def npmrc() -> tuple[str, str]:
        secret = maker.random.choice([maker.uuid(), maker.base64(24)])
        return (
            secret,
            f"@acme:registry=https://npm.acme.dev/\n//npm.acme.dev/:_authToken={secret}\nalways-auth=true",
        )

    def netrc() -> tuple[str, str]:
        secret = maker.password()
        return secret, f"machine git.acme.dev login app password {secret}\n"

    def flag() -> tuple[str, str]:
        secret = maker.password().replace("!", "A").replace("$", "B").replace("*", "C").replace("?", "D")
        name = maker.random.choice(["--password ", "--password=", "--api-key ", "--client-secret "])
        return secret, f"$ acme login --user app {name}{secret} --region eu"

    def spring() -> tuple[str, str]:
        secret = maker.password()
        return (
            secret,
            f"spring.datasource.username=app\nspring.datasource.password={secret}\nspring.jpa.show=false",
        )

    return {
        "private key": lambda: _pem(maker),
        "url password": url,
        "basic header": basic,
        "bearer header": bearer,
        "curl user": curl,
        "api key header": header,
        "cookie": cookie,
        "connection string": connection,
        "azure connection": azure,
        "shared access signature": sas,
        "npmrc": npmrc,
        "netrc": netrc,
        "flag": flag,
        "properties": spring,
    }


def everything(seed: int, each: int) -> list[Planted]:
    """`each` of every family, every other one escaped in the JSON of a tool's result."""
    maker = Maker(seed)
    made: list[Planted] = []
    for family, (name, make) in (MARKED | KEYED).items():
        for number in range(each):
            secret = make(maker)
            choices = _assignments(name, secret)
            if family in MARKED and not secret.startswith("http"):
                choices += _mentions(secret)
            made.append(_wrapped(maker, family, secret, maker.random.choice(choices), number % 2 == 1))
    for family, plant in _structured(maker).items():
        for number in range(each):
            secret, text = plant()
            made.append(_wrapped(maker, family, secret, text, number % 2 == 1))
    return made


def _wrapped(maker: Maker, family: str, secret: str, text: str, escaped: bool) -> Planted:
    """Among lines of ordinary output, and as the client's transcript would hold it."""
    text = f"{maker.words(12)}\n$ cat config\n{text}\n{maker.words(9)}\n"
    if escaped:
        result = {"type": "tool_result", "tool_use_id": "toolu_01" + maker.some(ALNUM, 22), "content": text}
        text = json.dumps(
            {"type": "user", "uuid": maker.uuid(), "message": {"role": "user", "content": [result]}}
        )
        secret = json.dumps(secret)[1:-1]
    return Planted(family, secret, text, escaped)
