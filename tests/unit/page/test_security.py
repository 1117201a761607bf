"""The gatekeeper alone: one table for each of its decisions."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from switchboard.page.security import (
    GRANT_MS,
    MAX_BODY,
    MAX_GRANTS,
    MAX_TICKETS,
    SUBPROTOCOL,
    TICKET_MS,
    WRONG_TICKET_MS,
    WRONG_TICKETS,
    Admitted,
    Asked,
    Gatekeeper,
    Grant,
    Record,
    Refused,
    Route,
    content_policy,
    digest,
    host_names,
    is_loopback,
    read_record,
    response_headers,
    write_record,
)

NOW = 1_700_000_000_000
PORT = 4711
HOST = f"127.0.0.1:{PORT}"
ORIGIN = f"http://{HOST}"
INSTANCE = "0123456789abcdef"
COOKIE, KEY = "c" * 43, "k" * 43
TICKET = "t" * 43
NAME = f"switchboard-{INSTANCE}"

Headers = Sequence[tuple[str, str]]


def gatekeeper(at: int = NOW) -> Gatekeeper:
    granted = Grant(digest(COOKIE), digest(KEY), at)
    return Gatekeeper(Record(INSTANCE, PORT, (granted,)), host_names("127.0.0.1", PORT))


def get(path: str = "/", *headers: tuple[str, str], host: str = HOST) -> Asked:
    return Asked("GET", path, (("host", host), *headers))


def upgrade(*headers: tuple[str, str], origin: str | None = ORIGIN, host: str = HOST, path: str = "/ws") -> Asked:
    own = [("host", host), ("upgrade", "websocket"), ("connection", "Upgrade")]
    return Asked("GET", path, (*own, *([("origin", origin)] if origin is not None else []), *headers))


def post(*headers: tuple[str, str], path: str = "/ticket") -> Asked:
    return Asked("POST", path, (("host", HOST), ("origin", ORIGIN), *headers))


def credential(cookie: str = COOKIE, key: str = KEY, name: str = NAME) -> Headers:
    return (("cookie", f"{name}={cookie}"), ("sec-websocket-protocol", f"{SUBPROTOCOL}, key.{key}"))


def status(asked: Asked, now: int = NOW) -> int | Route:
    verdict = gatekeeper().judge(asked, now)
    return verdict.status if isinstance(verdict, Refused) else verdict.route


# --- the host ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", [HOST, f"localhost:{PORT}", f"LocalHost:{PORT}", f"[::1]:{PORT}"])
def test_the_names_of_loopback_are_its_own(host: str) -> None:
    assert gatekeeper().judge(get("/", host=host), NOW) == Admitted(Route.INDEX, "/", host.lower())


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("host", "")],
        [("host", "127.0.0.1")],
        [("host", "127.0.0.1:4712")],
        [("host", "evil.example:4711")],
        [("host", "127.0.0.1.evil.example:4711")],
        [("host", "localhost.:4711")],
        [("host", "127.1:4711")],
        [("host", "2130706433:4711")],
        [("host", "[::ffff:127.0.0.1]:4711")],
        [("host", "192.168.1.7:4711")],
        [("host", f"user@{HOST}")],
        [("host", f"{HOST}, evil.example")],
        [("host", HOST), ("host", HOST)],
        [("host", HOST), ("host", "evil.example")],
        [("host", HOST), ("x-forwarded-host", "evil.example")],
        [("host", HOST), ("x-forwarded-host", f"{HOST}, evil.example")],
        [("host", "evil.example"), ("x-forwarded-host", HOST)],
        [("host", HOST), ("forwarded", f"host={HOST}")],
    ],
    ids=lambda headers: " ".join(f"{name}={value}" for name, value in headers) or "none",
)
@pytest.mark.parametrize("path", ["/", "/ws", "/assets/a.js", "/nowhere"])
def test_any_other_host_is_misdirected_whatever_is_asked_for(headers: Headers, path: str) -> None:
    assert status(Asked("GET", path, (*headers, ("origin", ORIGIN), *credential()))) == 421


def test_a_proxy_that_says_our_own_name_is_none() -> None:
    assert status(get("/", ("x-forwarded-host", HOST))) is Route.INDEX


def test_on_port_80_browsers_leave_the_port_out() -> None:
    assert "127.0.0.1" in host_names("127.0.0.1", 80)
    assert "127.0.0.1" not in host_names("127.0.0.1", 8080)


def test_beyond_loopback_only_the_one_address_is_a_name() -> None:
    assert host_names("192.168.1.7", 80) == {"192.168.1.7:80", "192.168.1.7"}
    assert host_names("fe80::1", 81) == {"[fe80::1]:81"}


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("127.0.0.1", True),
        ("127.0.0.53", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.7", False),
        ("localhost.evil.example", False),
        ("", False),
    ],
)
def test_what_is_loopback(address: str, local: bool) -> None:
    assert is_loopback(address) is local


# --- the origin -------------------------------------------------------------------------------------------------------

FOREIGN = {
    "missing": None,
    "empty": "",
    "null": "null",
    "another site": "http://evil.example",
    "another port": "http://127.0.0.1:4712",
    "no port": "http://127.0.0.1",
    "another scheme": f"https://{HOST}",
    "another name of loopback": f"http://localhost:{PORT}",
    "a longer name": f"http://{HOST}.evil.example",
    "with a slash": f"{ORIGIN}/",
    "in capitals": ORIGIN.upper(),
    "a list": f"{ORIGIN} http://evil.example",
    "an extension": "chrome-extension://abcdefghijklmnop",
    "a file": "file://",
}


@pytest.mark.parametrize("origin", FOREIGN.values(), ids=FOREIGN)
def test_a_websocket_needs_exactly_our_origin(origin: str | None) -> None:
    assert status(upgrade(*credential(), origin=origin)) == 403


@pytest.mark.parametrize("origin", FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "HEAD", "CONNECT"])
def test_whatever_acts_needs_exactly_our_origin(origin: str | None, method: str) -> None:
    own = [("origin", origin)] if origin is not None else []
    assert status(Asked(method, "/ticket", (("host", HOST), *own))) == 403


@pytest.mark.parametrize("origin", [value for value in FOREIGN.values() if value is not None])
@pytest.mark.parametrize("path", ["/", "/assets/a.js", "/check"])
def test_a_file_may_be_asked_for_without_an_origin_but_not_with_another(origin: str, path: str) -> None:
    assert status(get(path, ("origin", origin), *credential())) == 403


def test_two_origins_are_none() -> None:
    assert status(upgrade(("origin", ORIGIN), *credential())) == 403


def test_the_page_may_be_asked_for_without_an_origin() -> None:
    assert status(get("/")) is Route.INDEX
    assert status(get("/", ("origin", ORIGIN))) is Route.INDEX


@pytest.mark.parametrize(
    ("path", "site", "mode", "dest", "expected"),
    [
        ("/", "none", "navigate", "document", Route.INDEX),
        ("/", "same-origin", "navigate", "document", Route.INDEX),
        ("/", "cross-site", "navigate", "document", Route.INDEX),
        ("/", "same-site", "navigate", "document", Route.INDEX),
        ("/", "cross-site", "navigate", "iframe", 403),
        ("/", "cross-site", "no-cors", "script", 403),
        ("/", "same-site", "cors", "empty", 403),
        ("/assets/a.js", "same-origin", "no-cors", "script", Route.ASSET),
        ("/assets/a.js", "cross-site", "no-cors", "script", 403),
        ("/assets/a.js", "same-site", "no-cors", "script", 403),
        ("/assets/a.js", "cross-site", "navigate", "document", 403),
        ("/check", "cross-site", "no-cors", "empty", 403),
        ("/check", "same-origin", "cors", "empty", Route.CHECK),
    ],
)
def test_what_the_browser_says_of_the_asking_site_has_to_agree(
    path: str, site: str, mode: str, dest: str, expected: int | Route
) -> None:
    fetched = (("sec-fetch-site", site), ("sec-fetch-mode", mode), ("sec-fetch-dest", dest))
    assert status(get(path, *fetched, *credential())) == expected


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none", "nonsense"])
def test_a_websocket_comes_from_the_same_origin(site: str) -> None:
    assert status(upgrade(("sec-fetch-site", site), ("sec-fetch-mode", "websocket"), *credential())) == 403
    assert status(upgrade(("sec-fetch-site", "same-origin"), *credential())) is Route.PAGE


# --- what there is ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", Route.INDEX),
        ("/?anything", Route.INDEX),
        ("/assets/index-Ab_3.js", Route.ASSET),
        ("/assets/a.b.css", Route.ASSET),
        ("/assets/", 404),
        ("/assets/a", 404),
        ("/assets/.htaccess", 404),
        ("/assets/../index.html", 404),
        ("/assets/%2e%2e/a.js", 404),
        ("/assets/a/b.js", 404),
        ("/assets/a..js", 404),
        ("/assets/a.js\n", 404),
        ("/assets/a.js%00", 404),
        ("/index.html", 404),
        ("//", 404),
        ("", 404),
        ("*", 404),
        (f"http://{HOST}/", 404),
        ("/sessions", 404),
        ("/WS", 404),
    ],
)
def test_what_can_be_asked_for(path: str, expected: int | Route) -> None:
    assert status(get(path)) == expected


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("POST", "/", "GET"),
        ("HEAD", "/", "GET"),
        ("DELETE", "/assets/a.js", "GET"),
        ("GET", "/ticket", "POST"),
        ("PUT", "/ticket", "POST"),
        ("OPTIONS", "/ticket", "POST"),
        ("POST", "/ws", "GET"),
        ("POST", "/check", "GET"),
        ("get", "/", "GET"),
    ],
)
def test_each_has_one_method(method: str, path: str, allow: str) -> None:
    verdict = gatekeeper().judge(Asked(method, path, (("host", HOST), ("origin", ORIGIN))), NOW)
    assert isinstance(verdict, Refused)
    assert (verdict.status, verdict.allow) == (405, allow)


@pytest.mark.parametrize("headers", [[], [("upgrade", "h2c")], [("upgrade", "websocket"), ("upgrade", "websocket")]])
def test_the_connection_is_a_websocket(headers: Headers) -> None:
    assert status(get("/ws", ("origin", ORIGIN), *headers, *credential())) == 426


# --- the credential ---------------------------------------------------------------------------------------------------


def test_cookie_and_key_together_open_the_page() -> None:
    assert gatekeeper().judge(upgrade(*credential()), NOW) == Admitted(Route.PAGE, "/ws", HOST)
    assert status(get("/check", ("cookie", f"{NAME}={COOKIE}"), ("x-switchboard-key", KEY))) is Route.CHECK


@pytest.mark.parametrize(
    "headers",
    [
        [],
        credential()[:1],
        credential()[1:],
        credential(cookie="x" * 43),
        credential(key="x" * 43),
        credential(cookie=KEY, key=COOKIE),
        credential(cookie=COOKIE[:-1]),
        credential(cookie=COOKIE + "c"),
        credential(cookie=f'"{COOKIE}"'),
        credential(name="switchboard-fedcba9876543210"),
        credential(name="switchboard"),
        credential(cookie=digest(COOKIE)[:43], key=digest(KEY)[:43]),
        [("cookie", f"{NAME}={COOKIE}"), ("sec-websocket-protocol", f"{SUBPROTOCOL}, KEY.{KEY}")],
    ],
    ids=[
        "nothing",
        "the cookie alone",
        "the key alone",
        "another cookie",
        "another key",
        "one for the other",
        "cut off",
        "longer",
        "quoted",
        "of another instance",
        "of none",
        "their hashes",
        "the key in another word",
    ],
)
def test_nothing_less_does(headers: Headers) -> None:
    assert status(upgrade(*headers)) == 401


def test_secrets_of_two_grants_are_not_one() -> None:
    gates = gatekeeper()
    other = Grant(digest("d" * 43), digest("l" * 43), NOW)
    gates.record = Record(INSTANCE, PORT, (*gates.record.grants, other))
    mixed = gates.judge(upgrade(*credential(key="l" * 43)), NOW)
    assert isinstance(mixed, Refused)
    assert mixed.status == 401
    assert isinstance(gates.judge(upgrade(*credential("d" * 43, "l" * 43)), NOW), Admitted)


def test_a_cookie_that_another_server_put_in_front_does_not_hide_ours() -> None:
    tossed = f"{NAME}={'x' * 43}; theme=dark; {NAME}={COOKIE}"
    assert status(upgrade(("cookie", tossed), credential()[1])) is Route.PAGE


def test_cookies_of_other_servers_do_not_count_against_ours() -> None:
    many = "; ".join([f"other-{number}=x" for number in range(500)] + [f"{NAME}={COOKIE}"])
    assert status(upgrade(("cookie", many), credential()[1])) is Route.PAGE


def test_cookies_of_more_text_than_a_browser_sends_are_not_read() -> None:
    flood = [("cookie", f"other={'x' * 32_768}")] * 2
    assert status(upgrade(*flood, *credential())) == 401


def test_a_flood_of_cookies_is_not_read_to_its_end() -> None:
    many = "; ".join([f"{NAME}={'x' * 43}"] * 64 + [f"{NAME}={COOKIE}"])
    assert status(upgrade(("cookie", many), credential()[1])) == 401


@pytest.mark.parametrize(
    ("now", "expected"), [(NOW - 1, 401), (NOW, Route.PAGE), (NOW + GRANT_MS - 1, Route.PAGE), (NOW + GRANT_MS, 401)]
)
def test_a_grant_ends(now: int, expected: int | Route) -> None:
    assert status(upgrade(*credential()), now) == expected


# --- the order --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (upgrade(origin="null", host="evil.example"), 421),
        (upgrade(origin="null"), 403),
        (upgrade(), 401),
        (Asked("DELETE", "/nowhere", (("host", HOST),)), 403),
        (Asked("DELETE", "/nowhere", (("host", HOST), ("origin", ORIGIN))), 404),
    ],
    ids=["host first", "then origin", "then the credential", "origin before what there is", "what there is"],
)
def test_the_first_breach_decides(asked: Asked, expected: int) -> None:
    assert status(asked) == expected


# --- tickets ----------------------------------------------------------------------------------------------------------

JSON = ["application/json"]


def body(ticket: str = TICKET) -> bytes:
    return json.dumps({"ticket": ticket}).encode()


def exchange(gates: Gatekeeper, content: bytes | None = None, types: list[str] = JSON, now: int = NOW) -> int | None:
    refused = gates.exchange(types, body() if content is None else content, "C" * 43, "K" * 43, now)
    return None if refused is None else refused.status


def test_a_ticket_becomes_a_grant_once() -> None:
    gates = gatekeeper()
    gates.issue(TICKET, NOW)
    fresh = credential("C" * 43, "K" * 43)
    assert isinstance(gates.judge(upgrade(*fresh), NOW), Refused)
    assert exchange(gates) is None
    assert isinstance(gates.judge(upgrade(*fresh), NOW), Admitted)
    assert exchange(gates) == 401


@pytest.mark.parametrize(("after", "expected"), [(TICKET_MS - 1, None), (TICKET_MS, 401), (TICKET_MS + 1, 401)])
def test_a_ticket_is_good_for_two_minutes(after: int, expected: int | None) -> None:
    gates = gatekeeper()
    gates.issue(TICKET, NOW)
    assert exchange(gates, now=NOW + after) == expected


def test_a_late_ticket_is_used_up_too() -> None:
    gates = gatekeeper()
    gates.issue(TICKET, NOW)
    assert exchange(gates, now=NOW + TICKET_MS) == 401
    assert exchange(gates, now=NOW) == 401


@pytest.mark.parametrize(
    "types",
    [
        [],
        ["text/plain"],
        ["application/x-www-form-urlencoded"],
        ["multipart/form-data; boundary=x"],
        ["text/plain; application/json"],
        ["application/json", "text/plain"],
        ["application/jsonx"],
    ],
    ids=str,
)
def test_only_what_no_form_can_send_is_taken(types: list[str]) -> None:
    gates = gatekeeper()
    gates.issue(TICKET, NOW)
    assert exchange(gates, types=types) == 415
    assert exchange(gates, types=["Application/JSON; charset=utf-8"]) is None


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", 400),
        (b"ticket=" + TICKET.encode(), 400),
        (b"null", 400),
        (b"[]", 400),
        (b'{"ticket":1}', 400),
        (b'{"ticket":null}', 400),
        (b'{"ticket":"a","more":1}', 400),
        (b'{"ticket":"\xff"}', 400),
        (b"[" * 4000, 400),
        (b'{"ticket":"' + b"t" * MAX_BODY + b'"}', 413),
        (b'{"ticket":""}', 401),
        (b'{"ticket":"\\ud800"}', 400),
    ],
    ids=lambda value: repr(value)[:40] if isinstance(value, bytes) else value,
)
def test_what_is_no_ticket(content: bytes, expected: int) -> None:
    gates = gatekeeper()
    gates.issue(TICKET, NOW)
    assert exchange(gates, content) == expected
    assert exchange(gates) is None, "the real one is still good"


def test_wrong_tickets_are_counted_and_a_right_one_is_still_taken() -> None:
    gates = gatekeeper()
    gates.issue(TICKET, NOW)
    assert [exchange(gates, body("x")) for _ in range(WRONG_TICKETS + 2)] == [401] * WRONG_TICKETS + [429, 429]
    assert exchange(gates) is None
    assert exchange(gates, body("x"), now=NOW + WRONG_TICKET_MS) == 401


def test_the_newest_tickets_are_kept() -> None:
    gates = gatekeeper()
    for number in range(MAX_TICKETS + 1):
        gates.issue(f"{number:043}", NOW)
    assert exchange(gates, body(f"{0:043}")) == 401
    assert exchange(gates, body(f"{1:043}")) is None
    assert exchange(gates, body(f"{MAX_TICKETS:043}")) is None


def test_the_newest_grants_are_kept_and_ended_ones_go() -> None:
    gates = gatekeeper()
    for number in range(MAX_GRANTS):
        gates.issue(TICKET, NOW)
        assert gates.exchange(JSON, body(), f"{number:043}", f"{number:043}", NOW) is None
    assert len(gates.record.grants) == MAX_GRANTS
    assert isinstance(gates.judge(upgrade(*credential()), NOW), Refused), "the oldest is gone"
    gates.issue(TICKET, NOW + GRANT_MS)
    assert exchange(gates, now=NOW + GRANT_MS) is None
    assert len(gates.record.grants) == 1


def test_a_standing_credential_is_a_ticket_for_many_uses() -> None:
    gates = gatekeeper()
    gates.standing = digest("s" * 40)
    assert exchange(gates, body("s" * 40)) is None
    assert exchange(gates, body("s" * 40)) is None
    assert exchange(gates, body(digest("s" * 40))) == 401


def test_no_secret_is_kept() -> None:
    gates = gatekeeper()
    gates.issue(TICKET, NOW)
    assert TICKET not in repr(gates)
    exchange(gates)
    kept = repr(gates) + write_record(gates.record).decode()
    assert "C" * 43 not in kept
    assert "K" * 43 not in kept


def test_the_cookie_is_for_this_server_and_no_script() -> None:
    name, *attributes = gatekeeper().set_cookie(COOKIE).split("; ")
    assert name == f"{NAME}={COOKIE}"
    assert set(attributes) == {"Path=/", f"Max-Age={GRANT_MS // 1000}", "HttpOnly", "SameSite=Strict"}


# --- the record -------------------------------------------------------------------------------------------------------


def test_a_record_comes_back() -> None:
    record = gatekeeper().record
    assert read_record(write_record(record)) == record


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{}",
        b"null",
        b'{"instance":"../../etc/passwd"}',
        b'{"instance":"0123456789ABCDEF"}',
        b'{"instance":"0123456789abcdef","port":70000}',
        b'{"instance":"0123456789abcdef","more":1}',
        b'{"instance":"0123456789abcdef","grants":[{"cookie":1}]}',
        b'{"instance":"0123456789abcdef\xff"}',
    ],
    ids=repr,
)
def test_what_is_no_record(text: bytes) -> None:
    assert read_record(text) is None


# --- answers ----------------------------------------------------------------------------------------------------------


def test_refusals_repeat_nothing_of_what_was_asked() -> None:
    secret = "<script>alert(1)</script>"
    for asked in (
        get(f"/{secret}"),
        get("/", host=secret),
        get("/", ("origin", secret)),
        upgrade(*credential(cookie=secret, key=secret)),
        Asked(secret, "/", (("host", HOST), ("origin", ORIGIN))),
    ):
        verdict = gatekeeper().judge(asked, NOW)
        assert isinstance(verdict, Refused)
        assert secret not in verdict.text


def test_no_inline_script_no_frame_no_other_place() -> None:
    rules = dict(part.split(" ", 1) for part in content_policy(HOST).split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == "'self'"
    assert rules["connect-src"] == f"'self' ws://{HOST}"
    assert rules["frame-ancestors"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert "unsafe-eval" not in content_policy(HOST)


@pytest.mark.parametrize("admitted", [None, Admitted(Route.INDEX, "/", HOST), Admitted(Route.TICKET, "/ticket", HOST)])
def test_only_built_files_are_kept_by_browsers(admitted: Admitted | None) -> None:
    assert response_headers(admitted)["Cache-Control"] == "no-store"
    assert "immutable" in response_headers(Admitted(Route.ASSET, "/assets/a.js", HOST))["Cache-Control"]


@pytest.mark.parametrize("admitted", [None, Admitted(Route.INDEX, "/", HOST), Admitted(Route.ASSET, "/a", HOST)])
def test_every_answer_is_guarded(admitted: Admitted | None) -> None:
    headers = response_headers(admitted)
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Cross-Origin-Opener-Policy"] == headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
