"""The rules by which secrets are known: what they find of sets made by chance, and what they leave."""

from __future__ import annotations

import pytest

from foreword.capture.redact import redact, redact_json
from foreword.capture.secrets.tables import (
    load_table,
    read_formats,
    read_keyword_contexts,
    read_words_by_role,
)
from foreword_measure.quality.secret_texts import (
    ANOTHER,
    FIRST,
    SECOND,
    make_secret_text,
    read_secret_formats,
)
from foreword_measure.quality.secrets import MIN_RECALL, is_missed

DRAWS = 3


@pytest.mark.parametrize("name", [FIRST, SECOND, *ANOTHER])
def test_nearly_all_secrets_of_a_set_are_found(name):
    formats = read_secret_formats(name)
    texts = [make_secret_text(form, f"test {draw}") for form in formats for draw in range(DRAWS)]
    missed = [text.text for text in texts if is_missed(text, redact(text.text))]
    assert len(missed) <= (1 - MIN_RECALL) * len(texts), "\n".join(missed)


def test_the_sets_are_large_and_made_anew_from_the_same_seed():
    first, second = read_secret_formats(FIRST), read_secret_formats(SECOND)
    assert len(first) >= 150
    assert len(second) >= 60
    assert make_secret_text(first[0], "a") == make_secret_text(first[0], "a")
    assert make_secret_text(first[0], "a") != make_secret_text(first[0], "b")


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("password: Tr0ub4dor&3", "password: [redacted:password]"),
        ("\x1b[32mTOKEN\x1b[0m=comet5434 \x1b[0m", "\x1b[32mTOKEN\x1b[0m=[redacted:secret] \x1b[0m"),
        ("password=hunter2secret99", "password=[redacted:password]"),
        ("password=my.dog.rex2019", "password=[redacted:password]"),
        ("mysql -u root -phunter2x shop", "mysql -u root -p[redacted:password] shop"),
        ("ALTER ROLE anna PASSWORD 'swordfish';", "ALTER ROLE anna PASSWORD '[redacted:password]';"),
        ("My password for the VPN is Tr0ub4dor3", "My password for the VPN is [redacted:password]"),
        ("password: >-\n  hunter2xyz\nport: 1", "password: >-\n  [redacted:password]\nport: 1"),
        ("user,password\nanna,hunter2x!\n", "user,password\nanna,[redacted:password]\n"),
        ("a=1&password%3Dhunter2x%26b=2", "a=1&password%3D[redacted:password]%26b=2"),
        ('{"msg": "x\\npassword=hunter2x"}', '{"msg": "x\\npassword=[redacted:password]"}'),
        ("x\\nsshpass -p hunter2x ssh a", "x\\nsshpass -p [redacted:password] ssh a"),
        ('FTP("host", "anna", "Hunter2x9")', 'FTP("host", "anna", "[redacted:password]")'),
        ('.basic_auth("anna", Some("Hunter2x9"))', '.basic_auth("anna", Some("[redacted:password]"))'),
        (
            "|| user || password ||\n| anna | Hunter2x9 |",
            "|| user || password ||\n| anna | [redacted:password] |",
        ),
        ("das WLAN-Passwort im Büro ist Hunter2x9", "das WLAN-Passwort im Büro ist [redacted:password]"),
        ("passphrase: cactus-pilot-orbit-maple\n", "passphrase: [redacted:password]\n"),
    ],
)
def test_a_secret_goes_whole_and_nothing_else_does(text, clean):
    assert redact(text) == clean
    assert redact(clean) == clean


@pytest.mark.parametrize(
    "text",
    [
        "password = token_type2, secret=self.secret_key, token=cfg.auth_token",
        "The password is required. Passwords must have 8 characters.",
        "password: string\ntoken: Token\nsecret: SecretStr\npassword: Optional\n",
        "pass `create=True` or pass *args to the mock; the password is *never* logged",
        "mysql -p shop; docker run -p 8080:80 web; redis-cli -a $REDIS_PASSWORD ping",
        "objects are identified by name; AIX filesets are identified by four values",
        "Le mot de passe est obligatoire. Das Passwort ist falsch. 密码错误。 パスワードが必要です。",
        "the token is invalid, the key is missing, the PIN is wrong",
        "machine learning with password hashing (PBKDF2, RFC2617, sha256)",
        "user,name\nanna,smith\n",
        "| token | meaning |\n|---|---|\n| comma | separates |\n",
        "seed words: see the wiki",
        "root:x:0:0:root:/root:/bin/bash",
        "| lists | kept |\n| secrets | kept |\n| `index=True` | an error |\n",
        '    "token",\n    "uchar2",\n    "uint3",\n    "vector3d",\n',
        "    build(\n        token=token,\n        user_agent=agent2x!,\n    )",
        "PublicKey = aGVsbG8gd29ybGQgaGVsbG8gd29ybGQgMTIzNDU2Nzg=",
        "password: !vault |\npassword: !secret wifi",
        '"login.password": "Passwort", "login.forgot": "Kennwort vergessen?"',
        "connect('localhost', 'root', charset='utf8mb4', path='x2/y3z')",
        "gpg --recv-keys 5BE8A3F6C8A5C01D106C0AD820B1A390B168D356",
        "-----BEGIN PRIVATE KEY-----\nXXXX\nXXXX\n-----END PRIVATE KEY-----",
    ],
)
def test_what_only_speaks_of_secrets_or_computes_them_stays(text):
    assert redact(text) == text


def test_an_option_in_a_list_of_words_speaks_for_the_next():
    argv = ["mysql", "--password", "hunter2x", "shop"]
    assert redact_json({"argv": argv}) == {"argv": ["mysql", "--password", "[redacted:password]", "shop"]}


def test_a_header_in_json_is_read_with_its_name():
    cookie = "theme=dark; other=" + "a1b2c3d4e5f6" * 3
    assert redact_json({"Cookie": cookie}) == {"Cookie": "theme=dark; other=[redacted:secret]"}


def test_the_tables_can_be_read_and_a_wrong_row_is_named():
    assert len(read_formats(load_table("formats.txt"))) > 150
    assert len(read_keyword_contexts(load_table("contexts.txt"))) > 150
    roles = {"password", "is", "aside", "before", "own", "code", "state", "call", "small"}
    assert roles == set(read_words_by_role(load_table("words.txt")))
    with pytest.raises(ValueError, match="line 1 of the secret contexts has 2 columns"):
        read_keyword_contexts("password  mysql\n")
