from __future__ import annotations

import base64
import json
import random
import re
import string
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foreword
from foreword.capture.redact import find_secrets, redact, redact_json
from foreword.capture.secrets.tables import Secret, SecretFormat, read_formats

ALPHABETS = {
    "a": string.ascii_letters + string.digits,
    "l": string.ascii_lowercase + string.digits,
    "u": string.ascii_uppercase + string.digits,
    "h": string.digits + "abcdef",
    "d": string.digits,
    "w": string.ascii_letters + string.digits + "_-",
    "b": string.ascii_letters + string.digits + "+/",
    "L": string.ascii_letters,
}
UUID = "{h8}-{h4}-{h4}-{h4}-{h12}"

# How keys look: {a36} is 36 letters and digits by chance. None of these lines is a key.
PROVIDERS = {
    "adobe": "p8e-{a32}",
    "age": "AGE-SECRET-KEY-1{u58}",
    "airtable": "pat{a14}.{h64}",
    "alibaba": "LTAI{a20}",
    "anthropic": "sk-ant-api03-{w93}AA",
    "artifactory": "AKCp{a69}",
    "asana": "1/{d16}:{h32}",
    "atlassian": "ATATT3xFfGF0{w180}={h8}",
    "aws": "AKIA{u16}",
    "aws session": "ASIA{u16}",
    "azure client secret": "{a3}8Q~{w34}",
    "azure openai": "{a52}JQQJ99{a26}",
    "bitbucket": "ATBB{a32}",
    "brevo": "xkeysib-{h64}-{a16}",
    "buildkite": "bkua_{h40}",
    "circleci": "CCIPAT_{a22}_{h40}",
    "clojars": "CLOJARS_{l60}",
    "cloudflare origin": "v1.0-{h24}-{h146}",
    "contentful": "CFPAT-{w43}",
    "databricks": "dapi{h32}",
    "digitalocean": "dop_v1_{h64}",
    "discord": "M{a25}.{w6}.{w38}",
    "docker": "dckr_pat_{w27}",
    "doppler": "dp.pt.{a43}",
    "dropbox": "sl.{w130}",
    "duffel": "duffel_live_{w43}",
    "dynatrace": "dt0c01.{u24}.{u64}",
    "easypost": "EZAK{a54}",
    "facebook": "EAA{a170}",
    "figma": "figd_{w40}",
    "flutterwave": "FLWSECK_TEST-{h32}-X",
    "fly": "fo1_{w43}",
    "gcp api key": "AIza{w35}",
    "gcp oauth": "GOCSPX-{w28}",
    "gcp access": "ya29.{w120}",
    "github classic": "ghp_{a36}",
    "github oauth": "gho_{a36}",
    "github user": "ghu_{a36}",
    "github server": "ghs_{a36}",
    "github refresh": "ghr_{a36}",
    "github fine": "github_pat_{a22}_{a59}",
    "gitlab": "glpat-{w20}",
    "gitlab runner": "glrt-{w20}",
    "grafana": "glsa_{a32}_{h8}",
    "grafana cloud": "glc_{b80}",
    "groq": "gsk_{a52}",
    "heroku": "HRKU-" + UUID,
    "hubspot": "pat-na1-" + UUID,
    "huggingface": "hf_{L34}",
    "langsmith": "lsv2_pt_{h32}_{h10}",
    "launchdarkly": "sdk-" + UUID,
    "linear": "lin_api_{a40}",
    "mailchimp": "{h32}-us12",
    "mailgun": "key-{h32}",
    "mailgun new": "{h32}-{h8}-{h8}",
    "mapbox": "sk.eyJ{a80}.{w22}",
    "netlify": "nfp_{a36}",
    "newrelic": "NRAK-{u27}",
    "notion": "ntn_{a46}",
    "notion old": "secret_{a43}",
    "npm": "npm_{a36}",
    "nuget": "oy2{l43}",
    "openai": "sk-{a20}T3BlbkFJ{a20}",
    "openai project": "sk-proj-{w120}",
    "openrouter": "sk-or-v1-{h64}",
    "perplexity": "pplx-{a48}",
    "pinecone": "pcsk_{a6}_{a63}",
    "plaid": "access-production-" + UUID,
    "planetscale": "pscale_tkn_{w43}",
    "postman": "PMAK-{h24}-{h34}",
    "pulumi": "pul-{h40}",
    "pypi": "pypi-AgEIcHlwaS5vcmc{w160}",
    "replicate": "r8_{a37}",
    "resend": "re_{a8}_{a24}",
    "rubygems": "rubygems_{h48}",
    "sendgrid": "SG.{w22}.{w43}",
    "sentry": "sntryu_{h64}",
    "shopify": "shpat_{h32}",
    "slack bot": "xoxb-{d12}-{d13}-{a24}",
    "slack app": "xapp-1-A{u10}-{d13}-{h64}",
    "sonar": "squ_{h40}",
    "square": "sq0atp-{w22}",
    "square production": "EAAA{w60}",
    "stripe": "sk_live_{a24}",
    "stripe restricted": "rk_live_{a99}",
    "stripe webhook": "whsec_{a32}",
    "supabase": "sbp_{h40}",
    "tailscale": "tskey-auth-{a12}-{a32}",
    "telegram": "{d10}:AA{w33}",
    "terraform": "{a14}.atlasv1.{w67}",
    "twilio": "SK{h32}",
    "twitter": "AAAAAAAAAAAAAAAAAAAAA{a80}",
    "typeform": "tfp_{w44}",
    "vault": "hvs.{w95}",
    "vercel": "vcp_{a56}",
    "xai": "xai-{a80}",
    "yandex": "AQVN{w36}",
    "braintree": "access_token$production${l16}${h32}",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJ{w60}.{w43}",
}
SURROUNDINGS = [
    "%s",
    "I pasted %s by accident.",
    "client = Client('%s')",
    'curl -H "X-Key: %s" https://api.example.com/v1',
    'KEY="%s"\nNEXT=1\n',
    "https://api.example.com/v1?key=%s&page=2",
    "first line\\n%s\\nlast line",
    "- %s,",
    "密钥%s。",
    "\x1b[31m%s\x1b[0m",
]

# Secrets known by their name alone, as settings, code and tools write them.
NAMED = {
    "DB_PASSWORD=%s": ("{a12}", "{l8}9", "Tr0ub4dor&{d1}", "{a16}!"),
    "export AWS_SECRET_ACCESS_KEY=%s": ("{b40}",),
    'aws_session_token = "%s"': ("{b200}==",),
    "DATADOG_API_KEY: %s": ("{h32}",),
    "HEROKU_API_KEY=%s": (UUID,),
    "TWILIO_AUTH_TOKEN=%s": ("{h32}",),
    "ALGOLIA_ADMIN_KEY='%s'": ("{h32}",),
    "FASTLY_API_TOKEN=%s": ("{w32}",),
    "VERCEL_TOKEN=%s": ("{a24}",),
    "CLOUDFLARE_API_TOKEN=%s": ("{w40}",),
    "COHERE_API_KEY=%s": ("{a40}",),
    "MISTRAL_API_KEY=%s": ("{a32}",),
    'PAYPAL_CLIENT_SECRET: "%s"': ("{w80}",),
    "OKTA_API_TOKEN=00%s": ("{w40}",),
    '{"clientSecret": "%s"}': ("{w32}",),
    "{'api_key': '%s'}": ("{a32}",),
    'const apiKey = "%s";': ("{a32}", "{h40}"),
    'password: str = "%s"': ("{a10}7",),
    'SECRET_KEY = "%s"': ("{a50}", "django-insecure-{a40}"),
    "  password: %s\n  port: 5432": ("{l9}4",),
    "spring.datasource.password=%s": ("{a14}",),
    "Server=db;User Id=sa;Password=%s;Encrypt=true": ("{a14}",),
    "<password>%s</password>": ("{a12}",),
    "tool --password %s --verbose": ("{a12}",),
    "tool --api-key=%s": ("{a32}",),
    "curl -u admin:%s https://x.example": ("{a12}",),
    "machine x.example login anna password %s": ("{a12}",),
    "The password is %s": ("{l8}4",),
    'escaped: {\\"password\\": \\"%s\\"}': ("{a12}",),
    "X-Api-Key: %s": ("{a32}",),
    "Authorization: Bearer %s": ("{a40}", "{w64}"),
    'headers = {"Authorization": "token %s"}': ("{h40}",),
    "GET /cb?access_token=%s&x=1": ("{a40}",),
    "DefaultEndpointsProtocol=https;AccountKey=%s;EndpointSuffix=x": ("{b86}==",),
    "https://x.blob.example/?sv=2022&sig=%s&se=1": ("{a43}%3D",),
    "//registry.example/:_authToken=%s": ("{a36}",),
    "postgres://app:%s@db.internal:5432/shop": ("{a12}", "{l8}"),
    "https://%s@github.com/a/b.git": ("{a40}",),
    "https://hooks.slack.com/services/%s": ("T{u8}/B{u8}/{a24}",),
    "https://discord.com/api/webhooks/112233445566778899/%s": ("{w68}",),
    "cache = '%s'": ("{a40}",),
}


def _fill_template(template, chance):
    def part(match):
        return "".join(chance.choices(ALPHABETS[match[1]], k=int(match[2])))

    return re.sub(r"\{(\w)(\d+)\}", part, template)


def _make_key(template, chance):
    """A key that does not end with a sign, which the next sentence could as well begin with."""
    while (key := _fill_template(template, chance))[-1] in "-_+/":
        pass
    return key


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_providers_key_is_found_wherever_it_stands(provider):
    chance = random.Random(provider)
    for around in SURROUNDINGS * 4:
        key = _make_key(PROVIDERS[provider], chance)
        before, after = around.split("%s")
        clean = redact(before + key + after)
        assert clean.startswith(before)
        assert clean.endswith(after)
        assert re.fullmatch(r"\[redacted:[a-z-]+\]", clean[len(before) : len(clean) - len(after)]), clean


@pytest.mark.parametrize("around", NAMED)
def test_what_is_given_to_a_secrets_name_is_found(around):
    chance = random.Random(around)
    before, after = around.split("%s")
    values = [_make_key(template, chance) for template in NAMED[around] for _ in range(50)]
    missed = [value for value in values if value in redact(before + value + after)]
    assert len(missed) <= len(values) // 50  # chance makes a word now and then
    assert redact(before + values[0] + after).endswith(after)


def _key_block(kind, chance, break_="\n"):
    body = _fill_template("{b64}", chance)
    lines = [
        f"-----BEGIN {kind}-----",
        *(_fill_template("{b64}", chance) for _ in range(12)),
        body[:22] + "==",
    ]
    return break_.join([*lines, f"-----END {kind}-----"])


@pytest.mark.parametrize(
    "kind",
    [
        *("PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "DSA PRIVATE KEY", "OPENSSH PRIVATE KEY"),
        *("ENCRYPTED PRIVATE KEY", "PGP PRIVATE KEY BLOCK"),
    ],
)
@pytest.mark.parametrize("break_", ["\n", "\r\n", "\\n", "\n    ", '\\n"\n    "', "\n   12→"])
def test_private_keys_go_whole_or_torn(kind, break_):
    key = _key_block(kind, random.Random(kind), break_)
    assert redact(f"before {key} after") == "before [redacted:private-key] after"
    torn = redact(f"before {key[: len(key) // 2]}")
    assert torn == "before [redacted:private-key]"


def test_public_keys_and_certificates_stay():
    chance = random.Random(7)
    for kind in ("PUBLIC KEY", "CERTIFICATE", "PGP PUBLIC KEY BLOCK", "PGP SIGNATURE"):
        block = _key_block(kind, chance)
        assert redact(block) == block


def test_a_service_account_loses_its_key_and_nothing_else():
    key = _key_block("PRIVATE KEY", random.Random(1)) + "\n"
    account = {
        "type": "service_account",
        "project_id": "shop",
        "private_key": key,
        "client_email": "a@b.example",
    }
    assert json.loads(redact(json.dumps(account, indent=2))) == account | {
        "private_key": "[redacted:private-key]\n"
    }
    assert redact_json(account) == account | {"private_key": "[redacted:private-key]\n"}


def test_a_login_in_a_header_is_found_and_plain_words_are_not():
    login = base64.b64encode(b"anna:" + _fill_template("{a12}", random.Random(2)).encode()).decode()
    assert redact(f"Authorization: Basic {login}") == "Authorization: Basic [redacted:basic]"
    assert redact("Basic authentication needs Bearer authentication") == (
        "Basic authentication needs Bearer authentication"
    )


def test_an_aws_pair_is_found_without_names():
    chance = random.Random(3)
    pair = f"{_fill_template('AKIA{u16}', chance)},{_fill_template('{b39}{a1}', chance)}"
    assert redact(f"anna,{pair}\n") == "anna,[redacted:aws],[redacted:aws]\n"


@pytest.mark.parametrize(
    "text",
    [
        "password = ${DB_PASSWORD}",
        'password = os.environ["DB_PASSWORD"]',
        "token = process.env.GITHUB_TOKEN",
        "api_key: <your key>",
        'api_key = "your-api-key-here"',
        "PASSWORD=xxxxxxxxxx",
        'password = "********"',
        "password=None, token=null, secret=false",
        "def connect(password: str, token: str | None = None) -> Token: ...",
        "token = tokenizer.next_token()",
        "secret = load_secret(name)",
        'SECRET_NAME = "projects/shop/secrets/db-password"',
        "max_tokens=4096 token_count: 128000",
        "password: {{ vault.password }}",
        "url = f'https://{user}:{password}@{host}/'",
        "postgres://user:password@localhost:5432/test",
        "Forgot your password? Reset the token: see below.",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        '"integrity": "sha512-kX0Y8bXk1nqWgUJ3fVb9wK2yYHq0Zl5sC7dRrT4mXoEoP1uI6aGhJvNtBcQwSxZy=="',
        "commit 2053ca7d1f05e65b1c2d3e4f5a6b7c8d9e0f1a2b",
        "id: 3f2b8c1e-1f05-4e65-9b1c-2d3e4f5a6b7c",
        "PWD=/home/anna/shop1 OLDPWD='/home/anna'",
        "keyboard: qwerty2, monkey: george1, passenger = 'anna smith'",
        "bypass = 'route66x', compass: n0rth",
        "Ed25519PrivateKey and private_key: ed25519.Ed25519PrivateKey",
        "<password>@proxy",
        r'TOKEN = r"[-!#$%&*+.^_|~0-9a-zA-Z]+" and token = r"\w+\d{3}-[a-z0-9]"',
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8m anna@shop",
    ],
)
def test_what_only_speaks_of_secrets_stays(text):
    assert redact(text) == text


def test_a_secret_inside_a_long_value_of_another_name_is_found():
    for around in ('token="%s"', "secret: '%s'", "password=%s", '{"token": "x", "note": "%s"}'):
        text = around.replace(
            "%s", "a note of many words " * 30 + "DB_PASSWORD=hunter2x, token: abc123def456ghi"
        )
        assert "hunter2x" not in redact(text)
        assert "abc123def456ghi" not in redact(text)


def test_the_rest_of_an_address_stays():
    password = _fill_template("{a12}", random.Random(4))
    assert redact(f"psql postgres://app:{password}@db.internal:5432/shop?x=1") == (
        "psql postgres://app:[redacted:url-password]@db.internal:5432/shop?x=1"
    )


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("a<private>b</private>c", "ac"),
        ("a<PRIVATE>b</Private>c", "ac"),
        ("a<private reason='x' until=\"y\">b</private>c", "ac"),
        ("a<private>b<private>c</private>d</private>e", "ae"),
        ("a<private>b\nc", "a"),
        ("a<private", "a"),
        ("a<private/>b", "ab"),
        ("a<private />b", "ab"),
        ("a</private>b", "a</private>b"),
        ("a<private>b</private>c</private>d", "ac</private>d"),
        ("<private>a</private>b<private>c</private>", "b"),
        ("a<privately>b, private c <private_x>", "a<privately>b, private c <private_x>"),
        ("a<pri<private>x</private>vate>b", "a"),
        ("a&lt;private&gt;b&lt;/private&gt;c", "ac"),
        (r"a\u003cprivate\u003eb\u003c\/private\u003ec", "ac"),
    ],
)
def test_what_is_private_leaves_no_trace(text, rest):
    assert redact(text) == rest


def test_a_private_span_goes_on_in_the_next_texts_of_a_message():
    parts = [{"type": "text", "text": "a <private>b"}, "c", {"type": "text", "text": "d</private> e"}, "f"]
    assert redact_json(parts) == [{"type": "text", "text": "a "}, "", {"type": "text", "text": " e"}, "f"]


def test_taking_out_a_private_span_cannot_hide_a_secret():
    key = _fill_template("ghp_{a36}", random.Random(5))
    assert redact(f"x = {key[:9]}<private>z</private>{key[9:]}") == "x = [redacted:github]"


CHANCE = random.Random(6)
PIECES = [
    *(_make_key(template, CHANCE) for template in PROVIDERS.values()),
    *(around.replace("%s", _make_key(NAMED[around][0], CHANCE)) for around in NAMED),
    *("password=", "token: ", '"', "'", "\\", "\\n", "\n", " ", "=", ":", "@", "://", "(", "[", "]"),
    *("-", "_", "a", "1"),
    *("Bearer ", "Basic ", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "<private>"),
    "</private>",
    *("[redacted:aws]", "[redacted:", "İ", "密", "\x1b[31m", "%20", "${X}", "hunter2", ">", "</"),
    "--password ",
]
mixtures = st.lists(st.sampled_from(PIECES) | st.text(st.characters(), max_size=6), max_size=12).map("".join)


def test_a_mark_that_parts_a_word_from_a_key_lets_the_word_announce_what_follows():
    key = _fill_template("p8e-{a32}", random.Random(5))
    assert redact(f"ПАРОЛ{key} hunter2") == "ПАРОЛ[redacted:adobe] [redacted:password]"


@settings(max_examples=5 * settings().max_examples)
@given(mixtures)
def test_redacting_twice_changes_nothing(text):
    once = redact(text)
    assert redact(once) == once


@given(mixtures)
def test_what_is_found_lies_in_the_text_in_order_and_apart(text):
    at = 0
    for secret in find_secrets(text):
        assert isinstance(secret, Secret)
        assert at <= secret.start < secret.end <= len(text)
        at = secret.end


@given(st.text("abcdefghijklmnop \n.,;()", max_size=300))
def test_text_without_secrets_stays_to_the_byte(text):
    assert redact(text) == text


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | mixtures,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8) | mixtures, inner, max_size=4)
    ),
    max_leaves=8,
)


@given(json_values)
def test_json_stays_json_and_is_redacted_once(value):
    once = redact_json(value)
    assert redact_json(once) == once
    json.dumps(once)


@given(st.dictionaries(st.sampled_from(["password", "note", "api_key"]), st.sampled_from(PIECES[:-20])))
def test_written_json_stays_readable(value):
    if "<private>" not in str(value):
        assert json.loads(redact(json.dumps(value))).keys() == value.keys()


def test_a_key_speaks_for_its_value():
    chance = random.Random(8)
    secret, key = _fill_template("{a32}", chance), _fill_template("ghp_{a36}", chance)
    assert redact_json(
        {
            "password": "hunter2",
            "Passphrase": "correct horse battery staple",
            "apiKey": secret,
            "env": [{"name": "DB_PASSWORD", "value": "swordfish"}, {"name": "PORT", "value": "5432"}],
            "tokens": [secret, "word"],
            "password2": 12345678,
            "retries": 12345678,
            "secret": 10**5000,
            "enabled": True,
            key: 1,
            key[:-1] + "z": 2,
            "note": "kept <private>not kept</private>",
            "pair": (1, secret),
        }
    ) == {
        "password": "[redacted:password]",
        "Passphrase": "[redacted:password]",
        "apiKey": "[redacted:secret]",
        "env": [{"name": "DB_PASSWORD", "value": "[redacted:password]"}, {"name": "PORT", "value": "5432"}],
        "tokens": ["[redacted:secret]", "word"],
        "password2": "[redacted:password]",
        "retries": 12345678,
        "secret": 10**5000,
        "enabled": True,
        "[redacted:github]": 1,
        "[redacted:github] 2": 2,
        "note": "kept ",
        "pair": [1, secret],
    }


def test_the_value_that_was_given_is_left_alone():
    given_value = {"a": ["password=hunter2x"]}
    assert redact_json(given_value) == {"a": ["password=[redacted:password]"]}
    assert given_value == {"a": ["password=hunter2x"]}


def test_a_row_of_the_table_is_a_format_for_each_of_its_beginnings():
    table = "# a comment\n\nshop      shp_ shx…  [a-z]{8}\nlate   Q~  (?<=aaQ~)[a-z]+  2\n"
    assert read_formats(table) == [
        SecretFormat("shop", "shp_", "[a-z]{8}", 0, is_apart=False),
        SecretFormat("shop", "shx", "[a-z]{8}", 0, is_apart=True),
        SecretFormat("late", "Q~", "(?<=aaQ~)[a-z]+", 2, is_apart=False),
    ]
    with pytest.raises(ValueError, match="line 2 of the secret formats has 2 columns"):
        read_formats("# fine\nshop  shp_\n")


def test_redacting_needs_the_standard_library_alone(tmp_path):
    script = tmp_path / "alone.py"
    script.write_text(
        "import sys\n"
        f"sys.path.append({str(Path(foreword.__file__).parent.parent)!r})\n"
        "from foreword.capture.redact import redact_json\n"
        "assert 'pathlib' not in sys.modules\n"
        "print(redact_json({'password': 'hunter2'}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(script)], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout == "{'password': '[redacted:password]'}\n"


def test_the_one_letter_that_grows_does_not_shift_what_is_found():
    password = _fill_template("{a12}7", random.Random(9))
    assert redact(f"İİİ password = '{password}' İ") == "İİİ password = '[redacted:password]' İ"
    grown = [letter for letter in map(chr, range(sys.maxunicode)) if len(letter.lower()) != 1]
    assert grown == ["İ"]
