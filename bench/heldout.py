"""A second sample of secrets: one each, as the providers' pages and the tools' manuals show them in use.

Written from memory after the rules, and measured before anything was changed because of it: 79 % then
(71 of 90). What could be said in general was then learned from it (bare arguments, pairs, long values, a
secret that stands twice), so today's figure is no longer that of an unseen sample; the first one is.
"""

from __future__ import annotations

from planted import ALNUM, BASE32, DIGITS, HEX, LOWER, UPPER, URLSAFE, Make, Maker

#: What it is, the text it stands in at @@, and how it is made.
SHAPES: list[tuple[str, str, Make]] = [
    ("adobe client secret", "ADOBE_CLIENT_SECRET=@@", lambda m: "p8e-" + m.some(LOWER, 32)),
    (
        "algolia admin key",
        "algoliasearch('B1G2GM9NG0', '@@') // adminApiKey: '@@'",
        lambda m: m.some(HEX, 32),
    ),
    (
        "asana token",
        'curl -H "Authorization: Bearer @@" https://app.asana.com/api',
        lambda m: f"1/{m.some(DIGITS, 16)}:{m.some(HEX, 32)}",
    ),
    ("auth0 management", "AUTH0_CLIENT_SECRET='@@'", lambda m: m.some(URLSAFE, 64)),
    ("aws session", "aws_session_token = @@", lambda m: "IQoJb3JpZ2luX2VjE" + m.base64(300)),
    (
        "aws in boto",
        "boto3.client('s3', aws_access_key_id='x', aws_secret_access_key='@@')",
        lambda m: m.base64(30),
    ),
    ("azure devops pat", "AZURE_DEVOPS_EXT_PAT=@@ az devops login", lambda m: m.some(LOWER, 52)),
    (
        "azure sql",
        "jdbc:sqlserver://a.database.windows.net:1433;user=app;password=@@;encrypt=true",
        lambda m: "Qx9#mTz" + m.some(ALNUM, 6),
    ),
    ("azure openai", "api-key: @@", lambda m: m.some(HEX, 32)),
    (
        "azure function",
        "https://acme.azurewebsites.net/api/run?code=@@",
        lambda m: m.some(URLSAFE, 54) + "==",
    ),
    (
        "bitbucket app password",
        "git clone https://ann:@@@bitbucket.org/acme/api.git",
        lambda m: "ATBB" + m.some(ALNUM, 32),
    ),
    ("bitly", 'BITLY_ACCESS_TOKEN="@@"', lambda m: m.some(HEX, 40)),
    ("brevo smtp", "smtp_password: @@", lambda m: f"xsmtpsib-{m.some(HEX, 64)}-{m.some(ALNUM, 16)}"),
    ("buildkite agent", 'token="@@"', lambda m: m.some(HEX, 50)),
    ("circleci", "curl -H 'Circle-Token: @@' https://circleci.com/api/v2/me", lambda m: m.some(HEX, 40)),
    ("cloudflare global key", "X-Auth-Key: @@", lambda m: m.some(HEX, 37)),
    ("cloudinary", "CLOUDINARY_URL=cloudinary://874837483274837:@@@demo", lambda m: m.some(URLSAFE, 27)),
    ("coinbase", "CB-ACCESS-SIGN: x\nCB-ACCESS-KEY: @@", lambda m: m.some(HEX, 32)),
    (
        "confluent",
        "sasl.jaas.config=org.x.PlainLoginModule required username='K' password='@@';",
        lambda m: m.base64(48),
    ),
    ("consul", "CONSUL_HTTP_TOKEN=@@", Maker.uuid),
    ("datadog app key", "DD-APPLICATION-KEY: @@", lambda m: m.some(HEX, 40)),
    ("datadog agent", "api_key: @@\nsite: datadoghq.eu", lambda m: m.some(HEX, 32)),
    ("deepgram", "Authorization: Token @@", lambda m: m.some(HEX, 40)),
    (
        "django",
        "SECRET_KEY = 'django-insecure-@@'",
        lambda m: m.some(LOWER + "!@$%^*(-_=+", 50).replace("@@", "ab"),
    ),
    ("dockerconfigjson", '{"auths":{"https://index.docker.io/v1/":{"auth":"@@"}}}', lambda m: m.base64(30)),
    ("dropbox app secret", "DROPBOX_APP_SECRET=@@", lambda m: m.some(LOWER, 15)),
    ("elastic password", "ELASTIC_PASSWORD=@@ docker compose up", lambda m: m.some(ALNUM, 24)),
    ("elastic api key", "Authorization: ApiKey @@", lambda m: m.base64(45)),
    ("etherscan", "ETHERSCAN_API_KEY=@@", lambda m: m.some(UPPER, 34)),
    ("ethereum key", "PRIVATE_KEY=0x@@", lambda m: m.some(HEX, 64)),
    ("fastly", "Fastly-Key: @@", lambda m: m.some(URLSAFE, 32)),
    ("firebase service", "FIREBASE_TOKEN: @@", lambda m: "1//0" + m.some(URLSAFE, 98)),
    ("flask", "app.secret_key = b'@@'", lambda m: "_5y2L" + m.some(ALNUM, 10)),
    ("ftp", "lftp -u deploy,@@ ftp.acme.dev", lambda m: m.some(ALNUM, 12)),
    ("gcp service account", '{"private_key": "@@"}', lambda m: m.pem().replace("\n", "\\n")),
    (
        "gitea",
        'curl -H "Authorization: token @@" https://gitea.acme.dev/api/v1/user',
        lambda m: m.some(HEX, 40),
    ),
    ("github app jwt", "Authorization: Bearer @@", Maker.jwt),
    (
        "gitlab runner",
        "gitlab-runner register --registration-token @@ --url https://gitlab.com",
        lambda m: "GR1348941" + m.some(URLSAFE, 20),
    ),
    (
        "google oauth json",
        '"installed":{"client_id":"1.apps.googleusercontent.com","client_secret":"@@"}',
        lambda m: "GOCSPX-" + m.some(URLSAFE, 28),
    ),
    ("grafana cloud", 'password = "@@"', lambda m: "glc_eyJvIjoiNjUyODk1Iiwi" + m.some(ALNUM, 80) + "="),
    ("heroku", "machine api.heroku.com\n  login a@acme.dev\n  password @@", Maker.uuid),
    ("honeycomb", "x-honeycomb-team=@@", lambda m: m.some(ALNUM, 22)),
    ("infura", "https://mainnet.infura.io/v3/@@", lambda m: m.some(HEX, 32)),
    ("intercom", "INTERCOM_ACCESS_TOKEN=@@", lambda m: "dG9rO" + m.some(ALNUM, 55) + "="),
    (
        "jenkins",
        "curl -X POST --user admin:@@ https://ci.acme.dev/job/x/build",
        lambda m: "11" + m.some(HEX, 32),
    ),
    ("kafka", 'sasl_plain_password="@@"', lambda m: m.some(ALNUM, 16)),
    ("kubectl token", "kubectl --token=@@ get pods", Maker.jwt),
    ("kubeconfig key", "    client-key-data: @@", lambda m: m.base64(300)),
    ("launchdarkly", "LAUNCHDARKLY_SDK_KEY=@@", lambda m: "sdk-" + m.uuid()),
    ("laravel", "APP_KEY=base64:@@", lambda m: m.base64(32)),
    ("linkedin", "LINKEDIN_CLIENT_SECRET=@@", lambda m: m.some(ALNUM, 16)),
    ("mapbox", "MAPBOX_TOKEN=@@", lambda m: f"sk.eyJ1Ijoi{m.some(ALNUM, 60)}.{m.some(URLSAFE, 22)}"),
    (
        "mongo shell",
        "mongosh --username app --password @@ --authenticationDatabase admin",
        lambda m: m.some(ALNUM, 14),
    ),
    (
        "mongo uri",
        "mongodb+srv://app:@@@cluster0.ab1cd.mongodb.net/?retryWrites=true",
        lambda m: m.some(ALNUM, 16),
    ),
    ("mysql dump", "mysqldump -h db -u root -p@@ orders > a.sql", lambda m: m.some(ALNUM, 12)),
    ("netlify", "NETLIFY_AUTH_TOKEN=@@ netlify deploy", lambda m: "nfp_" + m.some(ALNUM, 36)),
    ("ngrok", "ngrok config add-authtoken @@", lambda m: f"2{m.some(ALNUM, 26)}_{m.some(ALNUM, 21)}"),
    ("nuget", "dotnet nuget push a.nupkg --api-key @@ --source x", lambda m: "oy2" + m.some(LOWER, 43)),
    ("okta ssws", "Authorization: SSWS @@", lambda m: "00" + m.some(URLSAFE, 40)),
    ("openssl pass", "openssl enc -aes-256-cbc -pass pass:@@ -in a", lambda m: m.some(ALNUM, 12)),
    (
        "openvpn",
        "<tls-auth>\n-----BEGIN OpenVPN Static key V1-----\n@@\n-----END",
        lambda m: m.some(HEX, 32) + "\n" + m.some(HEX, 32),
    ),
    ("pagerduty", "Authorization: Token token=@@", lambda m: m.some(URLSAFE, 20)),
    ("paypal", "PAYPAL_SECRET: @@", lambda m: "E" + m.some(URLSAFE, 79)),
    ("pgpass", "PGPASSWORD=@@ psql -h db -U app", lambda m: m.some(ALNUM, 12)),
    ("php define", "define('DB_PASSWORD', '@@');", lambda m: m.some(ALNUM, 12) + "!"),
    ("postmark", "X-Postmark-Server-Token: @@", Maker.uuid),
    ("putty", "Private-Lines: 2\n@@\nPrivate-MAC: x", lambda m: m.base64(48)),
    ("rabbit", "amqp://guest:@@@rabbit:5672/%2f", lambda m: m.some(ALNUM, 12)),
    ("rails master key", "RAILS_MASTER_KEY=@@", lambda m: m.some(HEX, 32)),
    ("redis cli", "redis-cli -h cache -a @@ ping", lambda m: m.some(ALNUM, 20)),
    ("s3cmd", "secret_key = @@", lambda m: m.base64(30)),
    (
        "salesforce",
        "SF_ACCESS_TOKEN=@@",
        lambda m: "00D" + m.some(ALNUM, 12) + "!AQ" + m.some(ALNUM + "._", 90),
    ),
    (
        "sentry auth",
        "[auth]\ntoken=@@",
        lambda m: "sntrys_eyJpYXQiOjE3" + m.some(ALNUM, 120) + "=_" + m.some(ALNUM, 43),
    ),
    ("shodan", "shodan init @@", lambda m: m.some(ALNUM, 32)),
    ("snowflake", "snowsql -a acme -u app  # SNOWSQL_PWD=@@", lambda m: m.some(ALNUM, 14)),
    ("spotify", "SPOTIFY_CLIENT_SECRET=@@", lambda m: m.some(HEX, 32)),
    ("stripe webhook", "endpoint_secret = '@@'", lambda m: "whsec_" + m.some(ALNUM, 32)),
    ("svn", "svn co --username ann --password @@ https://svn.acme.dev", lambda m: m.some(LOWER[:26], 9)),
    (
        "tailscale",
        "tailscale up --authkey=@@",
        lambda m: f"tskey-auth-{m.some(ALNUM, 17)}-{m.some(ALNUM, 32)}",
    ),
    ("terraform tfvars", 'db_password = "@@"', lambda m: "S3cure" + m.some(ALNUM, 8)),
    ("totp", "otpauth://totp/Acme:ann?secret=@@&issuer=Acme", lambda m: m.some(BASE32, 32)),
    ("twilio", "Client('AC0a1b2c3d4e5f60718293a4b5c6d7e8f9', auth_token='@@')", lambda m: m.some(HEX, 32)),
    ("vercel", "vercel deploy --token @@", lambda m: m.some(ALNUM, 24)),
    ("wandb", "wandb login @@", lambda m: m.some(HEX, 40)),
    ("webex", "WEBEX_TOKEN=@@", lambda m: m.some(URLSAFE, 64) + "_PF84_" + m.uuid()),
    ("wifi", 'network={\n ssid="home"\n psk="@@"\n}', lambda m: m.some(ALNUM, 12)),
    ("windows", "net use \\\\server\\share /user:ann @@", lambda m: m.some(ALNUM, 12) + "!"),
    ("wireguard", "[Interface]\nPrivateKey = @@", lambda m: m.base64(32)),
    ("wordpress", "define( 'AUTH_KEY', '@@' );", lambda m: m.some(ALNUM + "!#%*+?^~|-", 64)),
    (
        "zendesk",
        "curl -u ann@acme.dev/token:@@ https://acme.zendesk.com/api/v2/users.json",
        lambda m: m.some(ALNUM, 40),
    ),
]


def everything(seed: int) -> list[tuple[str, str, str]]:
    """(what it is, the secret, the text it stands in)"""
    maker = Maker(seed)
    made = []
    for name, shape, make in SHAPES:
        secret = make(maker)
        made.append((name, secret, shape.replace("@@", secret)))
    return made
