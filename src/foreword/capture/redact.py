"""Take secrets out of text before anything of it is written down.

Knows how the keys of many providers look, what a password assigned to a name looks like in code, settings,
JSON, command lines and addresses, and the `<private>` mark with which a user keeps something to themselves.
Each secret becomes `[redacted:KIND]`; a private span becomes nothing. Everything else stays as it was, to the
byte. Redact before cutting: half a key may no longer look like one.

Stands alone, on the standard library: a hook that must put a payload aside loads this file by its path.
Patterns are compiled when a text first holds what they begin with, and cost time in proportion to the text.
"""

from __future__ import annotations

import binascii
import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Secret(NamedTuple):
    """Where a secret stands in a text, and what kind it is."""

    kind: str
    start: int
    end: int


_UUID = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"

# Kind; what it begins with, one of several; how it goes on; how much of it stands before the beginning.
# A group, where there is one, is the secret itself.
_FORMATS: tuple[tuple[str, str, str, int], ...] = (
    ("adobe", "p8e-", r"[A-Za-z0-9]{32}", 0),
    ("age", "AGE-SECRET-KEY-1", r"[A-Z0-9]{50,}", 0),
    ("airtable", "pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{64}", 0),
    ("alibaba", "LTAI", r"[A-Za-z0-9]{16,}", 0),
    ("anthropic", "sk-ant-", r"[\w-]{20,}", 0),
    ("artifactory", "AKCp", r"[A-Za-z0-9]{60,}", 0),
    ("artifactory", "cmVmdGtuOj", r"[A-Za-z0-9]{50,}", 0),
    ("asana", "1/ 2/", r"\d{15,}(?:/\d{15,})?:[0-9a-f]{32}", 0),
    ("atlassian", "ATATT3 ATCTT3 ATBB", r"[\w=-]{24,}", 0),
    ("aws", "AKIA ASIA ABIA ACCA", r"[A-Z0-9]{16}(?![A-Za-z0-9])", 0),
    ("aws", "AKIA ASIA", r"[A-Z0-9]{16}[\s,;:|\"'\\nrt]{1,8}([A-Za-z0-9/+]{40})(?![\w/+=])", 0),
    ("aws-bedrock", "ABSK", r"[A-Za-z0-9+/]{100,}={0,2}", 0),
    ("aws-mws", "amzn.mws.", _UUID, 0),
    ("azure", "Q~", r"(?<=[\w.~-]{3}\dQ~)[\w.~-]{31,34}", 4),
    ("azure", "AccountKey= SharedAccessKey=", r"([A-Za-z0-9+/]{40,}={0,2})", 0),
    ("azure", "JQQJ99", r"(?<=[A-Za-z0-9]{52}JQQJ99)[A-Za-z0-9]{10,}", 52),
    ("azure-sas", "sig=", r"([A-Za-z0-9%+/]{40,}={0,2})", 0),
    ("braintree", "access_token$production$ access_token$sandbox$", r"[a-z0-9]{16}\$[0-9a-f]{32}", 0),
    ("brevo", "xkeysib-", r"[0-9a-f]{64}-[A-Za-z0-9]{16}", 0),
    ("buildkite", "bkua_ bkct_", r"[0-9a-f]{40}", 0),
    ("circleci", "CCIPAT_", r"[A-Za-z0-9]{22}_[0-9a-f]{40}", 0),
    ("clickhouse", "4b1d", r"[A-Za-z0-9]{38}(?![A-Za-z0-9])", 0),
    ("clojars", "CLOJARS_", r"[a-z0-9]{60}", 0),
    ("cloudflare", "v1.0-", r"[0-9a-f]{24}-[0-9a-f]{100,}", 0),
    ("contentful", "CFPAT-", r"[\w-]{43}", 0),
    ("databricks", "dapi", r"[0-9a-f]{32}(?:-\d)?", 0),
    ("defined", "dnkey-", r"[\w=-]{26}-[\w=-]{52}", 0),
    ("digitalocean", "dop_v1_ doo_v1_ dor_v1_", r"[0-9a-f]{64}", 0),
    ("discord", "discord.com/api/ discordapp.com/api/", r"(?:v\d+/)?webhooks/\d{15,20}/([\w-]{50,})", 0),
    ("docker", "dckr_pat_ dckr_oat_", r"[\w-]{20,}", 0),
    ("doppler", "dp.", r"(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,40}\.)?[A-Za-z0-9]{40,44}", 0),
    ("dropbox", "sl.", r"(?:u\.)?[\w-]{80,}={0,2}", 0),
    ("duffel", "duffel_live_ duffel_test_", r"[\w=-]{40,}", 0),
    ("dynatrace", "dt0c01. dt0s01.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}", 0),
    ("easypost", "EZAK EZTK", r"[A-Za-z0-9]{54}", 0),
    ("facebook", "EAA", r"[A-Za-z0-9]{60,}", 0),
    ("figma", "figd_ figu_", r"[\w-]{38,}", 0),
    ("flutterwave", "FLWSECK_TEST- FLWSECK-", r"[0-9a-hA-H]{12,}(?:-X)?", 0),
    ("fly", "fo1_", r"[\w-]{43}", 0),
    ("fly", "fm1r_ fm1a_ fm2_", r"[A-Za-z0-9+/]{60,}={0,3}", 0),
    ("frameio", "fio-u-", r"[\w=-]{64}", 0),
    ("gcp", "AIza", r"[\w-]{35}", 0),
    ("gcp", "GOCSPX-", r"[\w-]{28}", 0),
    ("gcp", "ya29.", r"[\w-]{20,}", 0),
    ("gcp", "1//0", r"[\w-]{40,}", 0),
    ("github", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{36,}", 0),
    ("github", "github_pat_", r"\w{40,}", 0),
    ("gitlab", "glpat- gldt- glrt- glptt- glft- glimt- glagent- gloas- glcbt- glsoat-", r"[\w.-]{20,}", 0),
    ("gitlab", "GR1348941", r"[\w-]{20,}", 0),
    ("grafana", "glsa_", r"[A-Za-z0-9]{32}_[0-9A-Fa-f]{8}", 0),
    ("grafana", "glc_", r"[A-Za-z0-9+/]{32,}={0,2}", 0),
    ("groq", "gsk_", r"[A-Za-z0-9]{48,}", 0),
    ("harness", "pat. sat.", r"[\w-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}", 0),
    ("heroku", "HRKU-", r"[\w-]{36,}", 0),
    ("hubspot", "pat-na pat-eu", r"\d-" + _UUID, 0),
    ("huggingface", "hf_", r"[A-Za-z0-9]{34,}", 0),
    ("huggingface", "api_org_", r"[A-Za-z0-9]{34}", 0),
    ("infracost", "ico-", r"[A-Za-z0-9]{32}", 0),
    ("intra42", "s-s4t2ud- s-s4t2af-", r"[0-9a-f]{64}", 0),
    ("jwt", "eyJ", r"[\w-]{10,1500}+(?:\.[\w-]*){2,4}", 0),
    ("langsmith", "lsv2_pt_ lsv2_sk_", r"[0-9a-f]{32}_[0-9a-f]{10}", 0),
    ("launchdarkly", "sdk- api-", _UUID, 0),
    ("linear", "lin_api_ lin_oauth_", r"[A-Za-z0-9]{32,}", 0),
    ("lob", "live_ test_", r"[0-9a-f]{35}(?![A-Za-z0-9])", 0),
    ("mailchimp", "-us", r"(?<=[0-9a-f]{32}-us)\d{1,2}(?!\w)", 32),
    ("mailgun", "key- pubkey-", r"[0-9a-f]{32}(?!\w)", 0),
    ("mapbox", "sk.", r"eyJ[\w-]{20,}\.[\w-]{20,}", 0),
    ("maxmind", "_mmk", r"(?<=[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk)(?![A-Za-z0-9])", 36),
    ("neon", "napi_", r"[a-z0-9]{60,}", 0),
    ("netlify", "nfp_ nfc_", r"[A-Za-z0-9]{36,}", 0),
    ("newrelic", "NRAK- NRII- NRSP- NRRA-", r"[\w-]{26,}", 0),
    ("newrelic", "NRJS-", r"[0-9a-f]{19}", 0),
    ("notion", "ntn_", r"[A-Za-z0-9]{40,}", 0),
    ("notion", "secret_", r"[A-Za-z0-9]{40,}", 0),
    ("npm", "npm_", r"[A-Za-z0-9]{36}", 0),
    ("nuget", "oy2", r"[a-z0-9]{43}(?![A-Za-z0-9])", 0),
    ("octopus", "API-", r"[A-Z0-9]{26}(?![A-Za-z0-9])", 0),
    ("onepassword", "ops_eyJ", r"[A-Za-z0-9+/]{200,}={0,2}", 0),
    ("onepassword", "A3-", r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}", 0),
    ("openai", "sk-proj- sk-svcacct- sk-admin- sk-None-", r"[\w-]{20,}", 0),
    ("openai", "sk-", r"(?:or-v1-)?[A-Za-z0-9]{32,}", 0),
    ("openshift", "sha256~", r"[\w-]{43}", 0),
    ("perplexity", "pplx-", r"[A-Za-z0-9]{32,}", 0),
    ("pinecone", "pcsk_", r"\w{40,}", 0),
    ("plaid", "access-sandbox- access-development- access-production-", _UUID, 0),
    ("planetscale", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[\w=.-]{32,}", 0),
    ("postman", "PMAK-", r"[0-9a-fA-F]{24}-[0-9a-fA-F]{34}", 0),
    ("prefect", "pnu_ pnb_", r"[A-Za-z0-9]{36}", 0),
    ("private-key", "Private-Lines:", r"\s\d+\s+((?:[A-Za-z0-9+/]{16,}={0,2}\s{1,3})+)", 0),
    ("pulumi", "pul-", r"[0-9a-f]{40}", 0),
    ("pypi", "pypi-", r"[\w-]{50,}", 0),
    ("razorpay", "rzp_live_ rzp_test_", r"[A-Za-z0-9]{14}", 0),
    ("readme", "rdme_", r"[a-z0-9]{70}", 0),
    ("render", "rnd_", r"[A-Za-z0-9]{32}", 0),
    ("replicate", "r8_", r"[A-Za-z0-9]{37}", 0),
    ("resend", "re_", r"[A-Za-z0-9]{8}_[A-Za-z0-9]{22,}", 0),
    ("rubygems", "rubygems_", r"[0-9a-f]{48}", 0),
    ("scalingo", "tk-us-", r"[\w-]{48}", 0),
    ("sendgrid", "SG.", r"[\w-]{22}\.[\w-]{43}", 0),
    ("sentry", "sntrys_ sntryu_ sntrya_", r"[\w+/=-]{40,}", 0),
    ("settlemint", "sm_aat_ sm_pat_ sm_sat_", r"[A-Za-z0-9]{16}", 0),
    ("shippo", "shippo_live_ shippo_test_", r"[0-9a-fA-F]{40}", 0),
    ("shopify", "shpat_ shpca_ shppa_ shpss_ shptka_", r"[0-9a-fA-F]{32}", 0),
    ("slack", "xoxb- xoxp- xoxa- xoxo- xoxr- xoxs- xoxe- xoxc- xoxd-", r"[\w%+/=.-]{10,}", 0),
    ("slack", "xoxe.xoxp- xoxe.xoxb- xapp-", r"[\w-]{20,}", 0),
    ("slack-webhook", "hooks.slack.com/", r"(?:services|workflows|triggers)/([\w/+-]{20,})", 0),
    ("sonar", "squ_ sqp_ sqa_", r"[0-9a-f]{40}", 0),
    ("sourcegraph", "sgp_", r"(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}", 0),
    ("square", "sq0atp- sq0csp- sq0idp-", r"[\w-]{22,}", 0),
    ("square", "EAAA", r"[\w-]{40,}", 0),
    ("stripe", "sk_live_ rk_live_ sk_test_ rk_test_ sk_prod_ rk_prod_", r"[A-Za-z0-9]{10,}", 0),
    ("stripe", "whsec_", r"[A-Za-z0-9+/=]{24,}", 0),
    ("supabase", "sbp_", r"[0-9a-f]{40}", 0),
    ("supabase", "sb_secret_", r"[\w-]{24,}", 0),
    ("tailscale", "tskey-", r"(?:[a-z]+-)?[A-Za-z0-9]{8,}-[A-Za-z0-9]{8,}", 0),
    ("tavily", "tvly-", r"[\w-]{28,}", 0),
    ("teams-webhook", ".webhook.office.com/", r"webhookb2/([\w@-]{36,}/IncomingWebhook/[\w/-]{30,})", 0),
    ("telegram", ":AA", r"(?<=\d{8}:AA)[\w-]{32,33}(?!\w)", 8),
    ("telegram", ":AA", r"(?<=\d{9}:AA)[\w-]{32,33}(?!\w)", 9),
    ("telegram", ":AA", r"(?<=\d{10}:AA)[\w-]{32,33}(?!\w)", 10),
    ("terraform", ".atlasv1.", r"(?<=[A-Za-z0-9]{14}\.atlasv1\.)[\w=-]{60,}", 14),
    ("together", "tgp_v1_", r"[\w-]{40,}", 0),
    ("twilio", "SK", r"[0-9a-f]{32}(?!\w)", 0),
    ("twitter", "AAAAAAAAAAAAAAAAAAAA", r"[A-Za-z0-9%]{30,}", 0),
    ("typeform", "tfp_", r"[\w.=-]{40,}", 0),
    ("vault", "hvs. hvb. hvr.", r"[\w-]{24,}", 0),
    ("vercel", "vcp_ vci_ vca_ vcr_ vck_", r"[A-Za-z0-9]{24,}", 0),
    ("xai", "xai-", r"[A-Za-z0-9]{60,}", 0),
    ("yandex", "AQVN t1.9eu", r"[\w.=-]{35,}", 0),
    # Words after which a secret stands.
    ("bearer", "earer EARER", r"(?<=[Bb]earer|BEARER)[ :=]{1,3}([\w.~+/-]{16,}={0,2})", 1),
    ("basic", "asic ASIC", r"(?<=[Bb]asic|BASIC)\s([A-Za-z0-9+/]{8,}={0,2})(?!\w)", 1),
    ("login", "-u --user", r"[ =]+[\"']?[^\s:\"']{1,64}:([^\s\"'\\]{6,128})", 0),
    ("login", "login", r"\s+\S{1,128}\s+password\s+([^\s\"'\\]{6,128})", 0),
    ("fly", "FlyV1", r"\s([\w+/=,-]{40,})", 0),
    ("url-password", "://", r"[^\s/:@\"'<>\\]{0,128}:([^\s/\"'<>\\]{3,256})@(?=[\w\[.$-])", 0),
    ("url-token", "://", r"([\w-]{20,256})@(?=\w)", 0),
)

_BEGINNINGS = tuple(
    (kind, beginning, rest, width) for kind, several, rest, width in _FORMATS for beginning in several.split()
)

# Without a beginning of their own.
_SHAPES = (
    ("discord", r"[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40}(?!\w)"),
    ("mailgun", r"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?!\w)"),
)
# Where keys can stand: a small part of most texts, and the only one that is searched for their beginnings.
_RUN = re.compile(r"[A-Za-z0-9_+/=%.~$:-]{16,}+")
_DIGIT = re.compile(r"[0-9]")
_APART = {"earer", "EARER", "asic", "ASIC", "FlyV1", "-u", "--user", "login", "://", "Private-Lines:"}
"""Beginnings that may have a blank or a sign between them and the secret."""

_PRIVATE = re.compile(r"<(?P<closing>/?)private(?:\s[^<>]{0,1000}?)?(?P<empty>/?)(?:>|\Z)", re.IGNORECASE)
_KEY_HEAD = re.compile(r"-----BEGIN (?:[A-Z0-9]{2,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_FOOT = re.compile(r"-----END [A-Z0-9 ]{0,64}PRIVATE KEY(?: BLOCK)?-----")
_BETWEEN = r"(?:\\[nr]|[^\w+/=]){0,24}(?:\d{1,6}[^\w+/=]{1,4})?"  # also the quotes of code, or a line number
_KEY_TORN = re.compile(
    r"(?a)(?:\s{0,4}Proc-Type:.{0,80}\s{1,4}DEK-Info:.{0,80})?"
    rf"(?:{_BETWEEN}[A-Za-z0-9+/=]{{20,200}})*(?:{_BETWEEN}[A-Za-z0-9+/=]{{1,200}}\Z)?"
)
_KEY_BODY = re.compile(r"[A-Za-z0-9+/]{30}")

_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_GLUED = re.compile(r"[A-Za-z0-9_-]*+")
_ESCAPE = re.compile(r"(?a)(?:\\[nrt]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2}|\x1b\[[0-9;]{0,8}[A-Za-z])\Z")

_NAMES = ("pass", "pwd", "secret", "token", "key", "credential", "auth")
_NAME = re.compile(
    r"(?a)(?P<word>pass(?:word|wd|phrase|code)?|pwd|secret|token|key|credentials?|authorization|auth)"
    r"(?P<tail>[\w-]{0,32}+)\\{0,4}[\"'`]?\]?"
    r"(?:,?\s{1,12}[\"']?value[\"']?)?"  # {"name": "PASSWORD", "value": …
    r"(?:\s{0,4}(?::\s{0,4}[a-z_][\w.\[\]|, ]{0,40}?\s(?==))?"  # password: str = …
    r"(?:[=!]?={1,2}|:=|=>|:|\bis:?\s)\s{0,8}|(?P<gap>>|\s{1,4}))"
)
_TAIL = re.compile(
    r"s?(?:[_-]?(?:key|value|base|raw|text|b64|base64|hex|prod|production|dev|test|staging|live|main|default|old|new"
    r"|\d{1,3}))*"
)
_KEYED = re.compile(
    r"(?:api|access|private|secret|auth|encrypt|encryption|master|signing|account|service|shared|client|hmac|jwt"
    r"|storage|admin|deploy|app|session|webhook|license|subscription)[_-]?\Z"
)
_PUBLIC = re.compile(r"pub[a-z]*[_-]?\Z")
_HARMLESS = re.compile(
    r"sha|md5|hash|digest|sum|integrity|etag|commit|rev|uuid|guid|print|cert|pub|sig|id\b|data|h1\b|\bv\b|url|path"
    r"|file|name|type|format|size|len|str\b",
    re.IGNORECASE | re.ASCII,
)
_NAME_BEFORE = re.compile(r"(?a)(?:(?P<mark>\[redacted:[a-z-]+\])|(?P<name>[\w-]*))[\"'`\]\s\\]{0,6}\Z")
_SCHEME = re.compile(r"(?:[bB]earer|[bB]asic|[tT]oken|[aA]pi[kK]ey)\s+")
_OPENING = re.compile(r"[bBrRuUfF]{0,2}(\\{0,4}[\"'`])")
_SHORTEST = len("<private")  # what is shorter holds no secret
_HEAD = 100  # how much of a long value is looked at
_QUOTED = {quote: re.compile(rf"(?:[^{quote}\\\n]|\\.){{0,4096}}+(?={quote})") for quote in "\"'`"}
_BARE = re.compile(r"[^\s\"'`,;<>(){}\[\]\\|&]{6,1024}")
_LOOSE = re.compile(
    r"(?a)[=:]\s{0,4}\\{0,4}[\"'`]?(?!0x|//|_Z)([A-Za-z0-9+/_~.-]{28,256}={0,2})(?![\w+/=(\[.-])"
)
_MEETINGS = re.compile(r"(?<=[A-Za-z])[0-9]|(?<=[0-9])[A-Za-z]|(?<=[a-z])[A-Z]")
_COMPUTED = re.compile(
    r"(?a)\A\$\(?\w+\)?\Z|\A<.*>\Z|\A\{[\w.!:]*\}\Z|\A%[sdr]\Z|\$\{|\{\{|%\(\w+\)|\\[dws][+*{]|\\x[0-9a-f]{2}-"
    r"|0-9a-z|a-z0-9|a-zA-Z|\[redacted:"
)
_STAND_INS = (
    *("xxx", "***", "...", "your", "example", "changeme", "change-me", "change_me", "placeholder", "dummy"),
    *("environ", "getenv", "process.env"),
)
_STANDING_IN = re.compile(
    r"(?a)sample|insert|replace|todo|fixme|(?:sha|md|utf|base|aes|rsa|ipv)-?\d"
    r"|(?:required|optional|string|missing|invalid|incorrect|hidden|x-oauth-basic)\Z"
    r"|(?:user|my)?(?:pass(?:word|wd)?|pwd|pw|secret|token)\d{0,3}\Z"
)
_NATURAL = r"(?:[A-Z]?[a-z]+|[A-Z]+)(?:[A-Z][a-z]{2,})*"
_WORDY = re.compile(rf"(?a)[^A-Za-z0-9]*(?:(?:{_NATURAL}\d{{0,4}}|\d+[a-z]?)(?:[^A-Za-z0-9]+|\Z))+")
_OF_CODE = re.compile(r"(?=.*(?:\.|key|token|secret|pass|type))[a-z_][a-z0-9_.]*", re.IGNORECASE | re.ASCII)


def redact(text: str) -> str:
    """The text without its secrets and without what was marked private; a second time changes nothing."""
    if len(text) < _SHORTEST:
        return text
    text = _without_private(text)
    pieces, at = [], 0
    for secret in find(text):
        pieces += [text[at : secret.start], f"[redacted:{secret.kind}]"]
        at = secret.end
    return "".join([*pieces, text[at:]])


def find(text: str) -> list[Secret]:
    """The secrets in a text, in order and apart from each other; what is marked private is not looked at."""
    found = [*_formatted(text), *_assigned(text), *_jumbled(text)]
    found = [secret for secret in found if not _touches_mark(text, secret)] + list(_private_keys(text))
    found.sort(key=lambda secret: secret.start)
    merged: list[Secret] = []
    for secret in found:
        glued = _GLUED.match(text, secret.end)  # taken for a part of it, so that nothing new begins after it
        end = glued.end() if glued else secret.end
        if merged and secret.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(merged[-1].end, end))
        else:
            merged.append(secret._replace(end=end))
    return merged


def marks_private(text: str) -> bool:
    """Whether a text marks anything as private, or may."""
    return _PRIVATE.search(text) is not None


def redact_json(value: Any) -> Any:  # noqa: ANN401 - JSON is whatever it is
    """The same value without secrets, in keys too; a key that names a secret speaks for its value."""
    root = [value]
    pending: list[tuple[Any, Any, str]] = [(root, 0, "")]
    while pending:
        holder, place, name = pending.pop()
        inner = holder[place]
        if isinstance(inner, (str, int)) and not isinstance(inner, bool):
            holder[place] = _redacted_under(name, inner)
        elif isinstance(inner, dict):
            copy: dict[Any, Any] = {}
            holder[place] = copy
            for key, member in inner.items():
                place_of_member = _unused(redact(key), copy) if isinstance(key, str) else key
                copy[place_of_member] = member
                pending.append((copy, place_of_member, redact(_label(inner, key))))
        elif isinstance(inner, (list, tuple)):
            holder[place] = items = list(inner)
            pending += [(items, index, name) for index in range(len(items))]
    return root[0]


def _label(members: dict[Any, Any], key: Any) -> str:  # noqa: ANN401
    """The name under which a member stands, also where it is written `{"name": …, "value": …}`."""
    label = members.get("name", members.get("key")) if key in ("value", "Value") else key
    return label if isinstance(label, str) else ""


def _unused(key: str, members: dict[Any, Any]) -> str:
    """The key, told apart from one that reads the same now."""
    free, number = key, 2
    while free in members:
        free, number = f"{key} {number}", number + 1
    return free


def _redacted_under(name: str, value: str | int) -> str | int:
    told = redact(value) if isinstance(value, str) else value
    text = told if isinstance(told, str) else str(told) if abs(told) < 10**40 else ""
    for match in _names(f"{name}="):
        if _names_a_secret(match.string, match) and _like_secret(text[:_HEAD], match, quoted=True):
            return f"[redacted:{_kind(match)}]"
    return told


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


def _without_private(text: str) -> str:
    """The text without private spans, nested ones included; one that is not closed ends with the text."""
    kept: list[str] = []
    at = depth = 0
    for tag in _PRIVATE.finditer(text):
        if depth == 0 and not tag["closing"]:
            kept.append(text[at : tag.start()])
            at = tag.end()
        if tag["closing"]:
            at = tag.end() if depth == 1 else at
            depth = max(0, depth - 1)
        elif not tag["empty"]:
            depth += 1
    if depth == 0:
        kept.append(text[at:])
    text = "".join(kept)
    remade = next((tag for tag in _PRIVATE.finditer(text) if not tag["closing"]), None)
    return text[: remade.start()] if remade else text  # two halves of a mark have met, and not by chance


def _formatted(text: str) -> Iterator[Secret]:
    """What looks like the keys that providers hand out."""
    each = dict.fromkeys(_RUN.findall(text))
    runs = " ".join([run for run in each if not run.islower() or _DIGIT.search(run)])
    for kind, beginning, rest, width in _BEGINNINGS:
        if beginning in runs or beginning in _APART:
            yield from _begun(text, kind, beginning, rest, width)
    for kind, shape in _SHAPES:
        if _compiled(shape).search(runs):
            spans = (match.span() for match in _compiled(shape).finditer(text))
            yield from (Secret(kind, start, end) for start, end in spans if _begins(text, start))


def _begun(text: str, kind: str, beginning: str, rest: str, width: int) -> Iterator[Secret]:
    at = text.find(beginning)
    while at >= 0:
        after = at + len(beginning)
        match = _compiled(rest).match(text, after) if _begins(text, at - width) else None
        if match:
            start, end = match.span(1) if match.re.groups else (at - width, match.end())
            if _CHECKS.get(kind, _varied)(text[start:end]):
                yield Secret(kind, start, end)
                after = end
        at = text.find(beginning, after)


def _touches_mark(text: str, secret: Secret) -> bool:
    """Whether a part of it has been redacted before."""
    mark = text.rfind("[redacted:", max(0, secret.start - 32), secret.end)
    return mark >= secret.start or (mark >= 0 and "]" not in text[mark : secret.start])


def _begins(text: str, at: int) -> bool:
    """Whether a word could begin here: it does not go on from before, unless what is before is an escape."""
    if at <= 0 or text[at] not in _WORD or text[at - 1] not in _WORD:
        return at >= 0
    return bool(_ESCAPE.search(text, max(0, at - 14), at))


def _private_keys(text: str) -> Iterator[Secret]:
    at = text.find("-----BEGIN ")
    while at >= 0:
        head = _KEY_HEAD.match(text, at)
        end = _end_of_key(text, head.end()) if head else at
        if end > at and _KEY_BODY.search(text, at, end):
            yield Secret("private-key", at, end)
        at = text.find("-----BEGIN ", max(end, at + 11))


def _end_of_key(text: str, at: int) -> int:
    """Where a key ends: after its foot or, if that was cut off, after the last line that looks like it."""
    dashes = text.find("-----", at, at + 20_000)
    foot = _KEY_FOOT.match(text, dashes) if dashes >= 0 else None
    last = foot or _KEY_TORN.match(text, at)
    return last.end() if last else at


def _assigned(text: str) -> Iterator[Secret]:
    """What is given to a name that says it is a secret."""
    for name in _names(text):
        start, end = _value(text, name) if _names_a_secret(text, name) else (0, 0)
        head = text[start : min(end, start + _HEAD)]
        if head and _like_secret(head, name, quoted=text[start - 1] in "\"'`"):
            yield Secret(_kind(name), start, end)


def _names(text: str) -> Iterator[re.Match[str]]:
    lower = text.replace("İ", "i").lower()  # the one letter that becomes two
    for word in _NAMES:
        at = lower.find(word)
        while at >= 0:
            match = _NAME.match(lower, at)
            if match:
                yield match
            at = lower.find(word, at + len(word))


def _kind(name: re.Match[str]) -> str:
    return "password" if name["word"].startswith(("pass", "pwd")) else "secret"


def _names_a_secret(text: str, name: re.Match[str]) -> bool:
    """Whether the name could be a secret's and, where only a gap follows, is a flag or an element."""
    at = name.start()
    if name["word"] in ("pass", "passcode") and at and text[at - 1].isalpha() and not text[at].isupper():
        return False
    if _touches_mark(text, Secret("", at, at)):
        return False
    if name["gap"] is None:
        return True
    start = at
    while start > max(0, at - 40) and (text[start - 1] in _WORD or text[start - 1] == "-"):
        start -= 1
    return text[start - 1 : start] == "<" if name["gap"] == ">" else text[start : start + 2] == "--"


def _value(text: str, name: re.Match[str]) -> tuple[int, int]:
    """Where the value stands that a name is given: between quotes, or up to a blank or a sign; or nowhere."""
    start = name.end()
    opening = _OPENING.match(text, start)
    start = opening.end() if opening else start
    scheme = _SCHEME.match(text, start)
    start = scheme.end() if scheme else start
    end = _closing(text, start, opening[1]) if opening else start
    if end > start:
        return start, end
    bare = _BARE.match(text, start)
    if not bare or text[bare.end() : bare.end() + 1] in ("(", "[", "{"):
        return 0, 0  # a call, or something else that is computed
    if name["gap"] == ">" and text[bare.end() : bare.end() + 2] != "</":
        return 0, 0
    return start, start + len(bare[0].rstrip(".:"))


def _closing(text: str, at: int, quote: str) -> int:
    """Where the quotation ends that holds this place; here, if it does not end."""
    if len(quote) == 1:
        inside = _QUOTED[quote].match(text, at)
        return inside.end() if inside else at
    return max(at, text.find(quote, at, at + 4096))


def _jumbled(text: str) -> Iterator[Secret]:
    """What is given to any name and looks like chance itself, sums and identifiers aside."""
    for match in _LOOSE.finditer(text):
        value = match[1]
        if value.islower() or value.isupper() or len(set(value)) < 16 or _jumble(value) < 0.28:
            continue
        before = _NAME_BEFORE.search(text, max(0, match.start() - 48), match.start())
        if before and not before["mark"] and not _HARMLESS.search(before["name"]):
            yield Secret("secret", *match.span(1))


def _jumble(value: str) -> float:
    """How often, of all neighbours, letter meets digit or a small letter a capital: chance does both."""
    value = value[:_HEAD]
    return len(_MEETINGS.findall(value)) / max(1, len(value) - 1)


def _like_secret(value: str, name: re.Match[str], *, quoted: bool) -> bool:
    """Whether a value could be the secret its name speaks of, and not a stand-in, a word or an expression."""
    if len(value) < 6 or _stands_in(value) or _has_blanks(value, name):
        return False
    if name["word"] == "pwd" and value.startswith(("/", "~")):
        return False  # the working directory
    if not quoted and _OF_CODE.fullmatch(value) and _jumble(value) < 0.25:
        return False
    if not _TAIL.fullmatch(name["tail"]) or not _is_whole(name):
        return (
            not name["gap"]
            and len(value) >= 20
            and _jumble(value) > 0.3
            and not _HARMLESS.search(name["tail"])
        )
    return _like_password(value, quoted=quoted) if _kind(name) == "password" else _like_key(value)


def _has_blanks(value: str, name: re.Match[str]) -> bool:
    return name["word"] != "passphrase" and any(map(str.isspace, value))


def _is_whole(name: re.Match[str]) -> bool:
    """Whether the word says enough by itself: a key must be a key to something."""
    before = name.string[max(0, name.start() - 16) : name.start()]
    if name["word"] in ("key", "auth"):
        return _KEYED.search(before) is not None
    return not _PUBLIC.search(before)


def _like_password(value: str, *, quoted: bool) -> bool:
    letter = any(map(str.isalpha, value))
    digit = any(map(str.isdigit, value))
    symbol = not set("!@#$%^&*?~+=|").isdisjoint(value)
    if letter and not digit and not symbol:
        return quoted or (len(value) >= 10 and not _WORDY.fullmatch(value))
    return letter or (quoted and digit)


def _like_key(value: str) -> bool:
    mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return len(value) >= (8 if mixed else 20) and not _WORDY.fullmatch(value)


def _stands_in(value: str) -> bool:
    """Whether a value is computed, or a word for a secret that is to be put there."""
    lower = value.lower()
    word = any(word in lower for word in _STAND_INS) or _STANDING_IN.match(lower)
    return bool((word and _jumble(value) < 0.2) or _COMPUTED.search(value))


def _varied(value: str) -> bool:
    return len(set(value)) > 6


def _decodes_to_login(value: str) -> bool:
    try:
        login = binascii.a2b_base64(value + "=" * (-len(value) % 4)).decode()
    except ValueError:
        return False
    return ":" in login and login.isprintable()


_CHECKS: dict[str, Callable[[str], bool]] = {
    "basic": _decodes_to_login,
    "bearer": _like_key,
    "login": lambda value: _like_password(value, quoted=False) and not _stands_in(value),
    "url-token": _like_key,
    "url-password": lambda value: not _stands_in(value) and len(value) > 3,
}
