import json
import time
from pathlib import Path
from typing import Any

import pytest

from hookline.log.redact.redactor import Redactor
from hookline.protocol.text.secret_names import SECRET_NAMES

ENVIRON = {
    "API_TOKEN": "tok-12345",
    "API_TOKEN_LONG": "tok-12345-and-more",
    "QUOTED_TOKEN": 'pa"ss\\wörd',
    "SHORT_TOKEN": "abcde",
    "SIX_TOKEN": "fghijk",
    "LINES_TOKEN": "-- first line of it --\n-- and the second --",
    "HARMLESS": "harmless-value",
}


def cleaned(value: Any, patterns: tuple[str, ...] = ("*TOKEN*", "password")) -> Any:
    return Redactor(patterns, ENVIRON).clean(value)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param('{"password":"x"}', '{"password":"[redacted]"}', id="exact"),
        pytest.param('{"PassWord":7}', '{"PassWord":"[redacted]"}', id="any-case"),
        pytest.param('{"my_token_2":["x"]}', '{"my_token_2":"[redacted]"}', id="glob"),
        pytest.param('{"passwords":"x"}', '{"passwords":"x"}', id="whole-names-only"),
        pytest.param('{"user.password":"x"}', '{"user.password":"x"}', id="whole-keys-only"),
        pytest.param('[{"a":[{"password":null}]}]', '[{"a":[{"password":"[redacted]"}]}]', id="any-depth"),
        pytest.param("is tok-12345!", "is [redacted]!", id="environment-value"),
        pytest.param("tok-12345-and-more", "[redacted]", id="longest-environment-value-first"),
        pytest.param('{"tok-12345":1}', '{"[redacted]":1}', id="environment-value-as-a-key"),
        pytest.param("abcde fghijk", "abcde [redacted]", id="six-characters"),
        pytest.param("harmless-value", "harmless-value", id="not-named"),
        pytest.param("got -- and the second --", "got [redacted]", id="one-line-of-an-environment-value"),
        pytest.param('[{"a_token": {"b": "x"}, "n": 1}]\n', '[{"a_token": "[redacted]", "n": 1}]\n', id="container"),
        pytest.param('{"p":{"password":"x"},"p":1}', '{"p":{"password":"[redacted]"},"p":1}', id="a-key-twice"),
        pytest.param(
            json.dumps({"s": json.dumps({"password": "x", "n": 1})}),
            json.dumps({"s": json.dumps({"password": "[redacted]", "n": 1})}),
            id="json-text-in-json-text",
        ),
        pytest.param(json.dumps({"a": 'pa"ss\\wörd'}), '{"a": "[redacted]"}', id="escaped-environment-value"),
        pytest.param('say "pa\\"ss\\\\w\\u00f6rd" x', 'say "[redacted]" x', id="escaped-in-broken-json"),
        pytest.param('{"password": "x\\"y", "n": 1', '{"password": "[redacted]", "n": 1', id="escaped-quote"),
        pytest.param('{"password": "x\\\\", "n": 1}', '{"password": "[redacted]", "n": 1}', id="escaped-backslash"),
        pytest.param('{"a": 1, "password": "secr', '{"a": 1, "password": "[redacted]', id="cut-in-the-secret"),
        pytest.param('it"s {"password":"x"}', 'it"s {"password":"[redacted]"}', id="after-a-stray-quote"),
        pytest.param(
            r'say "{\"password\": \"x\\\"y\", \"n\": 1}',
            r'say "{\"password\": \"[redacted]\", \"n\": 1}',
            id="escaped-member",
        ),
        pytest.param('x {"password": ["a", "b', 'x {"password": "[redacted]"', id="container-that-was-cut"),
        pytest.param('{"password": ', '{"password": ', id="cut-before-the-secret"),
        pytest.param('{"password": 123, ', '{"password": "[redacted]", ', id="number-in-broken-json"),
        pytest.param(json.dumps("a\npassword: abc123x"), '"a\\npassword: [redacted]"', id="after-an-escaped-line-end"),
        pytest.param("plain", "plain", id="plain"),
    ],
)
def test_secrets_are_replaced(text: str, shown: str) -> None:
    """A value under a matching key, and the value of a matching variable anywhere, is not shown."""
    assert cleaned(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("export API_TOKEN=abcdef; x", "export API_TOKEN=[redacted]; x"),
        ("API_TOKEN=$OTHER", "API_TOKEN=$OTHER"),
        ("db_password: swordfish\nhost: h", "db_password: [redacted]\nhost: h"),
        (json.dumps({"c": "a\npassword: swordfish"}), json.dumps({"c": "a\npassword: [redacted]"})),
        ('DB_PASSWORD="correct horse battery"\nX=1', 'DB_PASSWORD="[redacted]"\nX=1'),
        ('password = "Enter your password"', 'password = "Enter your password"'),
        ('PASSWORD="{} is {}".format(a, b)', 'PASSWORD="{} is {}".format(a, b)'),
        ("password: p4ss(w0rd", "password: p4ss(w0rd"),
        ("https://h/?access_token=abc123def&x=1", "https://h/?access_token=[redacted]&x=1"),
        ("login --password abc123d x", "login --password [redacted] x"),
        ("login --api-key=abc123d x", "login --api-key=[redacted] x"),
        ("use --token instead", "use --token instead"),
        ("client_secret = 'abcdef'", "client_secret = '[redacted]'"),
        ("{'password': 'x'}", "{'password': '[redacted]'}"),
        ("Authorization: Bearer abcdef", "Authorization: Bearer [redacted]"),
        ("authorization: Basic dXNlcjpwYXNz", "authorization: Basic [redacted]"),
        ('-H \\"Authorization: token abcdef\\"', '-H \\"Authorization: token [redacted]\\"'),
        ("Bearer abc.def-123", "Bearer [redacted]"),
        ("the bearer of this letter", "the bearer of this letter"),
        ("sk-proj-abcdefghijklmnop1234567890", "[redacted]"),
        ("sk-ant-api03-abcdefghijklmnop-AA", "[redacted]"),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "[redacted]"),
        ("github_pat_11ABCDEFG0abcdefghij_klmnop", "[redacted]"),
        ("glpat-abcdefghij0123456789", "[redacted]"),
        ("AKIAIOSFODNN7EXAMPLE", "[redacted]"),
        ("xoxb-123456789012-abcdefghijkl", "[redacted]"),
        ("AIzaSyA0123456789abcdefghijklmnopqrstuv", "[redacted]"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", "[redacted]"),
        ("ya29.a0AfB_abcdefghijklmnopqrst", "ya29.[redacted]"),
        ("sk_live_abcdefghij0123456789", "[redacted]"),
        ("a\\nghp_abcdefghijklmnopqrstuvwxyz0123456789", "a\\n[redacted]"),
        ("x -----BEGIN RSA PRIVATE KEY-----\nMIIEabcdefghijklmnopq\n-----END RSA PRIVATE KEY----- y", "x [redacted] y"),
        ("-----BEGIN PRIVATE KEY-----\\nMIIEabcdefghijklmnopq\\nabc", "[redacted]"),
        ('if "-----BEGIN PRIVATE KEY-----" in text:', 'if "-----BEGIN PRIVATE KEY-----" in text:'),
        ("4e1243bd22c66e76c2ba9eddc1f91394e57f9f83", "4e1243bd22c66e76c2ba9eddc1f91394e57f9f83"),
        ("123e4567-e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"),
        ('{"max_tokens": 8192, "total_token_count": 123456}', '{"max_tokens": 8192, "total_token_count": 123456}'),
        (
            "def login(password: str, token: Token, secret=None):",
            "def login(password: str, token: Token, secret=None):",
        ),
        ("self.token = tokens[0]; password = getpass()", "self.token = tokens[0]; password = getpass()"),
        ("{ password: string; token: string }", "{ password: string; token: string }"),
        ('API_KEY = os.environ["API_KEY"]', 'API_KEY = os.environ["API_KEY"]'),
        ('token_type = "encoded-word"', 'token_type = "encoded-word"'),
        ("TOKEN_URL=https://example.org/t", "TOKEN_URL=https://example.org/t"),
        ("class Tokenizer: TOKEN = re.compile('x')", "class Tokenizer: TOKEN = re.compile('x')"),
        ("psql postgres://u:pw@h/db", "psql postgres://u:[redacted]@h/db"),
        ("redis://:p@ss%21é@h:6379", "redis://:[redacted]@h:6379"),
        ('{"url": "https://u:p4ss@h/"} p4ss', '{"url": "https://u:[redacted]@h/"} p4ss'),
        ("mongodb://u:hunter22@h and hunter22", "mongodb://u:[redacted]@h and [redacted]"),
        ("postgres://postgres:postgres@h", "postgres://postgres:[redacted]@h"),
        ("https://$USER:$PASS@h http://{u}:{p}@h", "https://$USER:$PASS@h http://{u}:{p}@h"),
        ("http://localhost:8080/@scope/a ssh://git@h:22/x", "http://localhost:8080/@scope/a ssh://git@h:22/x"),
        ("docker://alpine:3.18@sha256:abc", "docker://alpine:3.18@sha256:abc"),
        ("curl -u ann:pw https://h", "curl -u ann:[redacted] https://h"),
        ("curl -sSu 'ann:p-w' h; curl --user=ann:pw h", "curl -sSu 'ann:[redacted]' h; curl --user=ann:[redacted] h"),
        (json.dumps({"c": 'curl h \\\n -u "ann:pw"'}), json.dumps({"c": 'curl h \\\n -u "ann:[redacted]"'})),
        ("curl -u $USER:$PASS h; curl -u ann h:80", "curl -u $USER:$PASS h; curl -u ann h:80"),
        ("docker run -u 1000:1000 alpine", "docker run -u 1000:1000 alpine"),
        ("machine h login u password pw", "machine h login u password [redacted]"),
        (
            json.dumps({"c": "machine h\n  login u\n  password pw\ndefault login v password qw"}),
            json.dumps({"c": "machine h\n  login u\n  password [redacted]\ndefault login v password [redacted]"}),
        ),
        ("by default login and password are not asked for", "by default login and password are not asked for"),
    ],
)
def test_without_any_setting_usual_secrets_are_found_and_code_is_left_alone(text: str, shown: str) -> None:
    """Assignments, options, headers and the tokens of providers are known; references, types and hashes stay."""
    assert cleaned(text, SECRET_NAMES) == shown


HEX = "0123456789abcdef" * 2
DISCORD = "https://discord.com/api/webhooks/123456789"


@pytest.mark.attack("30.F11", "secrets of fifteen more kinds, in commands, headers, addresses and sentences")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        *(
            pytest.param(text, shown, id=kind)
            for kind, text, shown in (
                (
                    "slack",
                    "https://hooks.slack.com/services/T0/B0/aB3dE5gH",
                    "https://hooks.slack.com/services/[redacted]",
                ),
                ("twilio", f"SK{HEX}", "[redacted]"),
                ("twilio-account", f"AC{HEX}", "[redacted]"),
                ("telegram", "/bot123456789:AAEabcdefghijklmnopqrstuvwxyz0123456/x", "/bot123456789:[redacted]/x"),
                ("discord", f"{DISCORD}/aB3dE5gH-k", f"{DISCORD}/[redacted]"),
                ("mysql", "mysql -u root -phunter2 app", "mysql -u root -p[redacted] app"),
                ("mysqldump", "mysqldump -h db -p'hun ter' x", "mysqldump -h db -p'[redacted]' x"),
                ("mariadb", "mariadb -phunter2", "mariadb -p[redacted]"),
                (
                    "azure",
                    "AccountName=x;AccountKey=abcdEFGH12345678+/==;E=y",
                    "AccountName=x;AccountKey=[redacted];E=y",
                ),
                ("azure-shared", "SharedAccessKey=abcdEFGH12345678+/=;E=y", "SharedAccessKey=[redacted];E=y"),
                ("azure-signature", "?sv=1&sig=abcdEFGH12345678%3D&x=1", "?sv=1&sig=[redacted]&x=1"),
                ("cookie", "curl -H 'Cookie: sid=abcd1234; t=efgh5678' h", "curl -H 'Cookie: [redacted]' h"),
                ("set-cookie", "Set-Cookie: sid=abcd1234; HttpOnly", "Set-Cookie: [redacted]; HttpOnly"),
                ("sshpass", "sshpass -p hunter2 ssh h", "sshpass -p [redacted] ssh h"),
                ("redis", "redis-cli -h db -a hunter2 ping", "redis-cli -h db -a [redacted] ping"),
                ("htpasswd", "htpasswd -bB users me hunter2", "htpasswd -bB users me [redacted]"),
                ("openssl", "openssl rsa -in k -passin pass:hunter2", "openssl rsa -in k -passin pass:[redacted]"),
                ("zip", "zip -P hunter2 a.zip b", "zip -P [redacted] a.zip b"),
                ("docker", "docker login -u me -p hunter2 h", "docker login -u me -p [redacted] h"),
                ("docker-long", "docker login --password=hunter2 h", "docker login --password=[redacted] h"),
                ("aws", "?X-Amz-Date=1&X-Amz-Signature=0123abcd", "?X-Amz-Date=1&X-Amz-Signature=[redacted]"),
                ("vault", "hvs.CAESIJlkjhgfdsapoiuytrewq12345", "hvs.[redacted]"),
                ("vault-old", "token s.abcdefghijkl0123456789AB", "token s.[redacted]"),
                ("age", f"AGE-SECRET-KEY-1{'Q' * 58}", "[redacted]"),
                ("pat", "GITHUB_PAT=abcdef123 git push", "GITHUB_PAT=[redacted] git push"),
                ("mysql-pwd", "MYSQL_PWD=hunter2 mysql", "MYSQL_PWD=[redacted] mysql"),
                ("pwd", "Server=x;Uid=sa;Pwd=hunter2;", "Server=x;Uid=sa;Pwd=[redacted];"),
                ("sentence", "my password is swordfish, thanks", "my password is [redacted], thanks"),
                ("quoted-sentence", "The password is 'Tr0ub4dor'", "The password is '[redacted]'"),
                ("token-sentence", "the token is a1b2c3d4", "the token is [redacted]"),
            )
        ),
        pytest.param(
            {"env": {"GITHUB_PAT": "abc1"}, "h": {"Cookie": "a=b"}},
            {"env": {"GITHUB_PAT": "[redacted]"}, "h": {"Cookie": "[redacted]"}},
            id="short-values-under-a-name",
        ),
        *(
            (text, text)
            for text in (
                "the password is required, your password is too short, the token is missing",
                "cookie: string; cookies = parse(header); if (cookie == null)",
                "PWD=/home/x OLDPWD=/y mysql -P 3306 -u root -p app; docker login h; ssh -p 22 h; git log -p",
                "unzip -p a.zip file; htpasswd users me; redis-cli -a $PW; pass: 3 of 4; openssl x -pass env:PW",
                "primary key is id; the key is a UUID4; x-amz-date; MYSQL_PWD=$X",
            )
        ),
    ],
)
def test_more_kinds_of_secrets_are_known(text: Any, shown: Any) -> None:
    assert cleaned(text, SECRET_NAMES) == shown
    redactor = Redactor(SECRET_NAMES, {})
    assert json.loads(redactor.clean_json(json.dumps({"a": text}).encode())) == {"a": shown}


def test_no_names_leave_the_known_forms() -> None:
    """An empty list switches off names; whatever has the form of a key or token is replaced all the same."""
    text = 'tok-12345 {"password": "hunter22"} ghp_abcdefghijklmnopqrstuvwxyz0123456789'
    assert cleaned(text, ()) == 'tok-12345 {"password": "hunter22"} [redacted]'


def test_a_value_under_a_name_is_replaced_everywhere() -> None:
    """Also in other texts of the same value, and there in any spelling; and later, unless it is an ordinary word."""
    redactor = Redactor(SECRET_NAMES, {})
    given = [{"stdin": '{"password":"hunt\\"er22","token":"ordinary"}'}, {"stderr": 'hunt"er22 or ordinary?'}]
    shown = [{"stdin": '{"password":"[redacted]","token":"[redacted]"}'}, {"stderr": "[redacted] or [redacted]?"}]
    assert redactor.clean(given) == shown
    assert redactor.suspects(b'hunt\\"er22')
    assert redactor.clean('hunt"er22 or ordinary?') == "[redacted] or ordinary?"


def test_a_value_that_is_too_short_is_replaced_only_under_its_name() -> None:
    """Five characters occur by chance."""
    assert cleaned({"password": "abcd1", "x": "abcd1"}) == {"password": "[redacted]", "x": "abcd1"}
    assert cleaned({"password": "abcd12", "x": "abcd12"}) == {"password": "[redacted]", "x": "[redacted]"}


def test_numbers_are_kept_under_the_usual_names_and_not_under_ones_that_a_person_gave() -> None:
    """By default a count of tokens is not a secret."""
    given = {"max_tokens": 5, "token": True, "n": 1}
    assert cleaned(given, SECRET_NAMES) == given
    assert cleaned(given, ("*token*",)) == {"max_tokens": "[redacted]", "token": "[redacted]", "n": 1}


def test_every_field_of_a_record_is_cleaned_except_those_that_readers_select_by() -> None:
    """Message, variables and command are texts like any other; event, session and time stay, whatever a secret is."""
    redactor = Redactor(["*TOKEN*", "event", "stdin"], {"A_TOKEN": "BeforeTool", "B_TOKEN": "tok-12345"})
    fixed = {"kind": "hook", "event": "BeforeTool", "session": "BeforeTool", "time": "BeforeTool"}
    given = {
        **fixed,
        "message": "BeforeTool: x",
        "stdin": "x",
        "env": {"A_TOKEN": "x", "B": "tok-12345"},
        "exitCode": 3,
    }
    shown = {"message": "[redacted]: x", "stdin": "[redacted]", "env": {"A_TOKEN": "[redacted]", "B": "[redacted]"}}
    assert redactor.clean_records([given]) == [{**fixed, **shown, "exitCode": 3}]


def test_nobody_hides_which_hook_decided_what_by_calling_it_a_secret() -> None:
    """A model chooses the arguments; neither now nor later do they change the names in a record, or its keys."""
    redactor = Redactor(SECRET_NAMES, {"A_TOKEN": "of-the-person"})
    names = {
        "hook": "no-rm.sh",
        "by": ["no-rm.sh"],
        "origin": "/p/settings.json",
        "project": "/p",
        "decision": "approve",
    }
    text = "X_TOKEN=no-rm.sh Y_TOKEN=/p/settings.json Z_TOKEN=decision A_SECRET=approve"
    (record,) = redactor.clean_records([{**names, "stdin": text}])
    assert record == {
        **names,
        "stdin": "X_TOKEN=[redacted] Y_TOKEN=[redacted] Z_TOKEN=[redacted] A_SECRET=[redacted]",
    }
    assert redactor.clean_records([{**names, "stdin": "ls no-rm.sh"}]) == [{**names, "stdin": "ls [redacted]"}]
    own = {"hook": "check --token abc123def of-the-person"}
    assert redactor.clean_records([own]) == [{"hook": "check --token [redacted] [redacted]"}]


def test_a_path_under_the_name_of_a_secret_stays_everywhere_else() -> None:
    """A model can't hide which files it reads; a key in base64, which may begin with a slash, is still a secret."""
    redactor = Redactor(SECRET_NAMES, {})
    given = "X_TOKEN=/etc/passwd Y_TOKEN=~/.ssh/id_rsa Z_TOKEN=/K7MDENG/bPxRfiCY; cat /etc/passwd ~/.ssh/id_rsa"
    shown = "X_TOKEN=[redacted] Y_TOKEN=[redacted] Z_TOKEN=[redacted]; cat /etc/passwd ~/.ssh/id_rsa"
    assert redactor.clean(given) == shown
    assert redactor.clean("cat /etc/passwd; echo /K7MDENG/bPxRfiCY") == "cat /etc/passwd; echo [redacted]"


def test_a_hook_that_changes_a_secret_keeps_its_name() -> None:
    """The keys of `provenance` may look like names of secrets; below them are the names of hooks."""
    record = {"hook": "guard-1", "provenance": {"hookSpecificOutput.tool_input.api_token": ["guard-1"]}}
    assert Redactor(SECRET_NAMES, {}).clean_records([record]) == [record]
    assert Redactor(SECRET_NAMES, {}).clean(record) == record


def test_the_environment_is_known_as_it_was_and_as_it_is() -> None:
    """A variable that was set later or has been removed is a secret, and so is an entry of bytes."""
    environ = {"A_TOKEN": "first-secret"}
    redactor = Redactor(["*_TOKEN"], environ)
    environ["B_TOKEN"] = "second-secret"  # noqa: S105 - that is the point
    redactor.look()
    environ.clear()
    redactor.learn({b"C_TOKEN": b"third-secret", 1: 2})
    assert redactor.clean("first-secret second-secret third-secret") == "[redacted] [redacted] [redacted]"
    assert redactor.margin >= len("second-secret")


def test_other_patterns_can_be_used_from_now_on() -> None:
    """A changed setting applies at once, also to the environment."""
    redactor = Redactor((), {"PIN": "123456"})
    assert redactor.clean("123456") == "123456"
    redactor.use(["pin"])
    assert redactor.clean("123456") == "[redacted]"


@pytest.mark.parametrize("pattern", ["*", "?assword", "[pP]assword", "*é", "_"])
def test_any_pattern_finds_keys(pattern: str) -> None:
    """A pattern needs no letters."""
    redactor = Redactor([pattern], {})
    key = {"*é": "passé", "_": "_"}.get(pattern, "password")
    text = f'{{"{key}": "x"}}'
    assert redactor.suspects(text.encode())
    assert redactor.clean(text) == f'{{"{key}": "[redacted]"}}'


@pytest.mark.parametrize(
    ("text", "is_suspect"),
    [
        ("nothing to see, 123e4567-e89b-12d3-a456-426614174000", False),
        ("PassWord", True),
        ("Bearer", True),
        ("AKIAIOSFODNN7EXAMPLE", True),
        ("tok-12345", True),
        ('pa\\\\\\"ss\\\\\\\\wörd', True),
        ("see https://example.org/@a and curl -u ann", False),
        ("postgres://u:pw@h", True),
        ("curl -u a:pw", True),
        ("default login u password pw", True),
    ],
)
def test_a_text_without_secrets_is_told_quickly(text: str, is_suspect: bool) -> None:
    """The quick look never misses what cleaning would find."""
    assert Redactor(("*TOKEN*", "password"), ENVIRON).suspects(text.encode()) is is_suspect


def test_json_text_is_cleaned_and_signatures_stay() -> None:
    """A model needs its signatures back as they were, whatever they look like."""
    given = {"thoughtSignature": "AKIAIOSFODNN7EXAMPLE", "text": "AKIAIOSFODNN7EXAMPLE"}
    redactor = Redactor(SECRET_NAMES, {})
    assert json.loads(redactor.clean_json(json.dumps(given).encode())) == {**given, "text": "[redacted]"}
    assert redactor.clean_json(b'{ "a" : 1 }') == b'{ "a" : 1 }'


@pytest.mark.parametrize("module", ["json", "asyncio", "importlib", "unittest", "concurrent"])
def test_ordinary_code_is_not_touched(module: str) -> None:
    """These packages of the standard library have no secrets, and none are found."""
    redactor = Redactor(SECRET_NAMES, {})
    for path in Path(json.__file__).parents[1].joinpath(module).rglob("*.py"):
        text = path.read_text()
        assert redactor.clean(text) == text, path


MEGABYTE = 2**20


@pytest.mark.parametrize(
    "part",
    [
        *(
            "a",
            '"',
            '\\"',
            "'\"",
            '{"a":',
            '"a":"',
            '"\\',
            '"password":"',
            "password: ",
            "password:",
            'password="',
            "a-",
        ),
        *(
            "password=token=",
            '"token":{',
            '"token":[',
            "-----BEGIN PRIVATE KEY-----",
            "PRIVATE KEY-----a",
            "Bearer ",
            "\\",
        ),
        *(
            "Authorization: Bearer",
            "authorization:",
            "Bearer a",
            "--token ",
            "sk-",
            "sk-a",
            "eyJa.",
            "password\\",
            "token ",
        ),
        *("://", "@://a:", "://a:b@", "curl", "curl -u a:b ", "curl -u", "machine a login b ", "machine login "),
        *("password: a\n", "password: a1b2c3\n", '{"password":"a1b2c3"}', "é", "ghp_", "token", "token" + " " * 50),
    ],
)
def test_hostile_text_takes_bounded_time(part: str) -> None:
    """No text makes the search quadratic."""
    text = (part * (MEGABYTE // len(part) + 1))[:MEGABYTE]
    started = time.process_time()
    redactor = Redactor(SECRET_NAMES, {})
    redactor.suspects(text.encode())
    redactor.clean(text)
    redactor.clean(f'{{"x": "{text[: MEGABYTE // 16]}')
    assert time.process_time() - started < 15


def test_no_environment_is_lost_among_many() -> None:
    """A plan may have any number of hooks with separate variables, before anything is written."""
    redactor = Redactor(SECRET_NAMES, {"START_TOKEN": "first-one"})
    for number in range(150):
        redactor.learn({"OWN_TOKEN": f"number-{number}"})
    assert redactor.clean("first-one number-0 number-149") == "[redacted] [redacted] [redacted]"
