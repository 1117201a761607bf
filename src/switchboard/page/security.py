"""Who may talk to the page's server (pure): one gatekeeper, asked before anything else happens to a request.

Theory of operation. A request is judged in this order, and the first breach decides:

1. it names this server: `Host`, and every host a proxy claims it was for, is on the list (421, a rebound DNS name);
2. it comes from this server's own page: `Origin` is exactly `http://` + that host. Required where something happens
   (any method but GET, and a WebSocket); elsewhere it may be absent, because navigations carry none. `Sec-Fetch-Site`,
   which pages cannot forge, has to agree when it is there (403);
3. it is one of the few things that exist (404, 405, 426);
4. it carries the credential, if what it asks for has to do with sessions (401).

A credential begins as a ticket: 256 random bits, for one use within two minutes, in the fragment of an address, which
browsers send to nobody. The page exchanges it for a grant, which is two secrets: a cookie, which scripts cannot read,
and a key, which the page keeps in its own storage and names in each WebSocket handshake. Both are needed. A browser
sends cookies to every port of a host, so any other local server that a person looks at receives the cookie; the key
belongs to our port alone, and a script that somehow ran in the page could read the key and not the cookie.

Only hashes of tickets and secrets are kept. Time and random values are arguments. The gatekeeper knows nothing of
sessions, and nothing that it says repeats what was sent.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

import msgspec

from switchboard.common.clock import Instant

TICKET_MS = 120_000
"""A ticket is good for so long: enough to switch to the browser, too short to be found in a scrollback."""

GRANT_MS = 30 * 24 * 3_600_000
"""A browser that has exchanged a ticket need not do so again for so long."""

MAX_TICKETS = 32
MAX_GRANTS = 64
"""Kept at once; the oldest goes."""

MAX_BODY = 4096
"""Bytes of a ticket exchange."""

MAX_COOKIES = 64
"""Cookies of our name looked at: another server of this host can set such ones too. Others are skipped."""

MAX_COOKIE_TEXT = 64 * 1024
"""Characters of all cookies of a request; with more none is looked at. Browsers send a small part of this."""

WRONG_TICKETS = 20
WRONG_TICKET_MS = 60_000
"""More wrong tickets than this within this time are answered 429. A right one is always taken."""

SUBPROTOCOL = "switchboard.1"
"""Named by the page in the handshake, beside `key.` and its key."""

SECRET = re.compile(r"[A-Za-z0-9_-]{43}")
"""256 bits in the alphabet for URLs."""

MIN_CREDENTIAL = 32
"""Characters of the standing credential that a server beyond loopback needs."""

ASSET = re.compile(r"/assets/(?:[A-Za-z0-9_-]+\.)+[A-Za-z0-9]+")
"""What built files are called: no dot at the beginning, no folders."""


class Route(Enum):
    """What can be asked of the server."""

    INDEX = "the page"
    ASSET = "a file of the page"
    TICKET = "the exchange of a ticket"
    CHECK = "whether the credential is good"
    PAGE = "the page's connection"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request's head. `headers`: names in lower case, in order, repeated ones repeated."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]

    def all(self, name: str) -> list[str]:
        """Return every value of a header."""
        return [value.strip() for key, value in self.headers if key == name]


@dataclass(frozen=True, slots=True)
class Refused:
    """The answer to a request that is not served: an HTTP status and a sentence."""

    status: int
    text: str
    allow: str | None = None


@dataclass(frozen=True, slots=True)
class Admitted:
    """A request that is served. `host`: the name of this server it used, port included."""

    route: Route
    path: str
    host: str


class Grant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A browser that may come back: hashes of its two secrets, and when it was admitted."""

    cookie: str
    key: str
    at: int


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What outlives the host, so that an open page reconnects to the next one: `web.json`, without any secret."""

    instance: str
    port: int = 0
    grants: tuple[Grant, ...] = ()


def read_record(text: bytes) -> Record | None:
    """Return the record in `text`, None when it is none."""
    try:
        record = msgspec.json.decode(text, type=Record)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return record if re.fullmatch(r"[0-9a-f]{16}", record.instance) and 0 <= record.port <= 65535 else None


def write_record(record: Record) -> bytes:
    """Return the text of a record."""
    return msgspec.json.encode(record) + b"\n"


def digest(secret: str) -> str:
    """Return what is kept of a secret. It has 256 random bits, so neither salt nor a slow hash would add anything."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def host_names(address: str, port: int) -> frozenset[str]:
    """Return the values of `Host` under which a server at `address` may be addressed.

    On loopback all three names of it: they cannot be made to mean another machine.
    """
    names = {bracketed(address)}
    if is_loopback(address):
        names |= {"127.0.0.1", "localhost", "[::1]"}
    return frozenset({f"{name}:{port}" for name in names} | (names if port == 80 else set()))


def is_loopback(address: str) -> bool:
    """Return whether only this machine reaches a server at `address`."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def bracketed(address: str) -> str:
    """Return an address as it stands in a URL."""
    return f"[{address}]" if ":" in address else address


@dataclass
class Gatekeeper:
    """The rules and what has been granted. `standing`: hash of the credential of a server beyond loopback."""

    record: Record
    hosts: frozenset[str]
    standing: str | None = None
    _tickets: dict[str, Instant] = field(default_factory=dict)
    _wrong: list[Instant] = field(default_factory=list)

    @property
    def cookie_name(self) -> str:
        """Named for this instance: browsers do not keep the cookies of different ports apart."""
        return f"switchboard-{self.record.instance}"

    # --- requests ---

    def judge(self, asked: Asked, now: Instant) -> Admitted | Refused:
        """Return what is asked for, or why it is refused."""
        host = self._host(asked)
        if host is None:
            return Refused(421, "This server has another name. Use the address that `switchboard url` prints.")
        path = asked.target.split("?", 1)[0]
        if not self._own_origin(asked, host, path):
            return Refused(403, "Only the page of this server may ask for this.")
        route = _route(path)
        if route is None:
            return Refused(404, "There is nothing here.")
        method = "POST" if route is Route.TICKET else "GET"
        if asked.method != method:
            return Refused(405, f"Only {method}, please.", allow=method)
        if route is Route.PAGE and [value.lower() for value in asked.all("upgrade")] != ["websocket"]:
            return Refused(426, "This is where the page connects.")
        if route in (Route.PAGE, Route.CHECK) and not self._known(asked, now):
            return Refused(401, "Not without a ticket: open the address that `switchboard url` prints.")
        return Admitted(route, path, host)

    def _host(self, asked: Asked) -> str | None:
        """Return the one host the request is for, None when it is not this server."""
        hosts = [value.lower() for value in asked.all("host")]
        claimed = [part.strip().lower() for value in asked.all("x-forwarded-host") for part in value.split(",")]
        if len(hosts) != 1 or any(name not in self.hosts for name in (*hosts, *claimed)) or asked.all("forwarded"):
            return None
        return hosts[0]

    def _own_origin(self, asked: Asked, host: str, path: str) -> bool:
        origins = asked.all("origin")
        acts = asked.method != "GET" or path == "/ws"
        if origins != [f"http://{host}"] and (origins or acts):
            return False
        sites = asked.all("sec-fetch-site")
        if not sites or sites == ["same-origin"]:
            return True
        # A person types the address, or follows a link to it: the page itself is no secret and shows nothing yet.
        navigation = asked.all("sec-fetch-mode") == ["navigate"] and asked.all("sec-fetch-dest") == ["document"]
        return path == "/" and not acts and (navigation or sites == ["none"])

    def _known(self, asked: Asked, now: Instant) -> bool:
        cookies = {digest(value) for value in self._cookies(asked)}
        keys = {digest(value) for value in _keys(asked)}
        return any(
            grant.cookie in cookies and grant.key in keys and grant.at <= now < grant.at + GRANT_MS
            for grant in self.record.grants
        )

    def _cookies(self, asked: Asked) -> Iterable[str]:
        text = asked.all("cookie")
        if sum(map(len, text)) > MAX_COOKIE_TEXT:
            return []
        pairs = [pair.strip().partition("=") for value in text for pair in value.split(";")]
        ours = [value for name, _, value in pairs if name == self.cookie_name]
        return [value for value in ours[:MAX_COOKIES] if SECRET.fullmatch(value)]

    # --- tickets ---

    def issue(self, ticket: str, now: Instant) -> None:
        """Take a ticket that was just made for an address."""
        self.next_end(now)
        self._tickets[digest(ticket)] = now + TICKET_MS
        while len(self._tickets) > MAX_TICKETS:
            del self._tickets[next(iter(self._tickets))]

    def waits(self, ticket: str, now: Instant) -> bool:
        """Return whether a ticket is still good."""
        return self._tickets.get(digest(ticket), now) > now

    def next_end(self, now: Instant) -> Instant | None:
        """Forget tickets that are too old; return when the next one will be, None when there is none."""
        self._tickets = {hashed: until for hashed, until in self._tickets.items() if until > now}
        return min(self._tickets.values(), default=None)

    def exchange(self, content_types: list[str], body: bytes, cookie: str, key: str, now: Instant) -> Refused | None:
        """Take the ticket in `body` for a grant of `cookie` and `key`, new secrets both. None: granted."""
        if len(content_types) != 1 or content_types[0].split(";")[0].strip().lower() != "application/json":
            # Forms of other sites can send text/plain and form data without asking; never this.
            return Refused(415, "A ticket comes as application/json.")
        if len(body) > MAX_BODY:
            return Refused(413, "That is no ticket.")
        try:
            ticket = msgspec.json.decode(body, type=_Exchange).ticket
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return Refused(400, "That is no ticket.")
        until = self._tickets.pop(digest(ticket), None)
        if (until is None or until <= now) and (self.standing is None or digest(ticket) != self.standing):
            return self._wrong_ticket(now)
        grants = [grant for grant in self.record.grants if now < grant.at + GRANT_MS]
        grants.append(Grant(digest(cookie), digest(key), int(now)))
        self.record = Record(self.record.instance, self.record.port, tuple(grants[-MAX_GRANTS:]))
        return None

    def _wrong_ticket(self, now: Instant) -> Refused:
        self._wrong = [at for at in self._wrong if now - WRONG_TICKET_MS < at <= now]
        if len(self._wrong) >= WRONG_TICKETS:
            return Refused(429, "Too many wrong tickets. Wait a minute.")
        self._wrong.append(now)
        return Refused(401, "That ticket is used or too old. `switchboard url` prints an address with a new one.")

    def set_cookie(self, cookie: str) -> str:
        """Return the header that brings a cookie into the browser."""
        return f"{self.cookie_name}={cookie}; Path=/; Max-Age={GRANT_MS // 1000}; HttpOnly; SameSite=Strict"


class _Exchange(msgspec.Struct, forbid_unknown_fields=True):
    ticket: str


def _route(path: str) -> Route | None:
    fixed = {"/": Route.INDEX, "/ticket": Route.TICKET, "/check": Route.CHECK, "/ws": Route.PAGE}
    return fixed.get(path) or (Route.ASSET if ASSET.fullmatch(path) else None)


def _keys(asked: Asked) -> list[str]:
    """The keys that a handshake, or a `/check`, names."""
    offered = [part.strip() for value in asked.all("sec-websocket-protocol") for part in value.split(",")]
    named = [*offered, *asked.all("x-switchboard-key")]
    return [value.removeprefix("key.") for value in named if SECRET.fullmatch(value.removeprefix("key."))]


def response_headers(admitted: Admitted | None) -> dict[str, str]:
    """Return the headers of every answer. Built files have their content in their names; nothing else is kept."""
    immutable = admitted is not None and admitted.route is Route.ASSET
    host = admitted.host if admitted is not None else None
    return {
        "Cache-Control": "public, max-age=31536000, immutable" if immutable else "no-store",
        "Content-Security-Policy": content_policy(host),
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=(), serial=()",
        "Referrer-Policy": "no-referrer",
        "Server": "switchboard",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
    }


def content_policy(host: str | None) -> str:
    """Return what a document of this server may load: its own files and its own connection, and no inline script.

    Inline style stays allowed because xterm.js writes style elements; a style cannot act.
    """
    if host is None:
        return "default-src 'none'; frame-ancestors 'none'"
    parts = (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "font-src 'self'",
        "manifest-src 'self'",
        # Not every browser counts the WebSocket of the same host as 'self'.
        f"connect-src 'self' ws://{host}",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
    return "; ".join(parts)
