"""Files of the web server (door): the built page in the package; `web.json` and `open.html` in the data directory."""

from __future__ import annotations

import contextlib
import html
import os
import re
import stat
import tempfile
from importlib import resources

from switchboard.page.security import MIN_CREDENTIAL, Record, read_record, write_record

MAX_FILE = 16 * 1024 * 1024
"""Bytes of one file of the page; the largest built one is below a tenth of this."""

TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "ico": "image/x-icon",
    "woff2": "font/woff2",
    "json": "application/json",
    "webmanifest": "application/manifest+json",
    "txt": "text/plain; charset=utf-8",
}


def static_folder() -> str | None:
    """Return the folder of the built page, None when this package has none: a source tree before its first build."""
    folder = os.fspath(resources.files("switchboard.page") / "static")  # type: ignore[call-overload]  # files of ours are on disk
    return folder if os.path.isfile(os.path.join(folder, "index.html")) else None


def read_static(folder: str, path: str) -> tuple[str, bytes] | None:
    """Return (content type, content) of a file of the page, None when there is none.

    `path`: as the gatekeeper admitted it, `/` or `/assets/NAME`. Links are not followed.
    """
    name = "index.html" if path == "/" else path.removeprefix("/")
    kind = TYPES.get(name.rpartition(".")[2])
    if kind is None:
        return None
    try:
        descriptor = os.open(os.path.join(folder, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            return kind, file.read(MAX_FILE)
    except OSError:
        return None


class LeadFile:
    """`open.html`, readable by its owner alone: leads the browser that `switchboard up` opens to an address.

    The command line of a process can be read by every user of the machine, and the address has a ticket in it. The
    server removes the file as soon as that ticket is used or too old.
    """

    def __init__(self, data_dir: str) -> None:
        self._folder = data_dir
        self._path = os.path.join(data_dir, "open.html")

    def write(self, url: str) -> str:
        """Write the file; return its path. Raises `OSError`."""
        descriptor, temporary = tempfile.mkstemp(dir=self._folder, prefix="open-", suffix=".tmp")  # of mode 0600
        shown = html.escape(url, quote=True)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write('<!doctype html><meta charset="utf-8"><title>Switchboard</title>\n')
                file.write(f'<meta http-equiv="refresh" content="0; url={shown}"><a href="{shown}">Switchboard</a>\n')
            os.replace(temporary, self._path)
        except OSError:
            os.unlink(temporary)
            raise
        return self._path

    def ticket(self) -> str | None:
        """Return the ticket that the file leads to, None when there is no such file."""
        try:
            with open(self._path, encoding="utf-8", errors="replace") as file:
                found = re.search(r"#ticket=([A-Za-z0-9_-]+)", file.read(4096))
        except OSError:
            return None
        return found[1] if found else ""

    def remove(self) -> None:
        """Remove the file, if there is one."""
        with contextlib.suppress(OSError):
            os.unlink(self._path)


class RecordFile:
    """`web.json`: readable by its owner alone. `lead`: the other file beside it."""

    def __init__(self, data_dir: str) -> None:
        self._path = os.path.join(data_dir, "web.json")
        self.lead = LeadFile(data_dir)

    def load(self) -> Record | None:
        """Return the record of an earlier host, None when there is none that can be read."""
        try:
            with open(self._path, "rb") as file:
                return read_record(file.read(1024 * 1024))
        except OSError:
            return None

    def save(self, record: Record) -> None:
        """Replace the record. Raises `OSError`."""
        temporary = f"{self._path}.tmp"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(write_record(record))
        os.replace(temporary, self._path)


def read_credential(path: str) -> str:
    """Return the secret in a file that only its owner can read. Raises `ValueError`, saying what to do."""
    try:
        # Without waiting: opening a pipe would otherwise last until somebody writes into it.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
        try:
            found = os.fstat(descriptor)
            regular = stat.S_ISREG(found.st_mode)
            text = os.read(descriptor, 4096).decode("utf-8", "replace").strip() if regular else ""
        finally:
            os.close(descriptor)
    except OSError as error:
        raise ValueError(f"the credential file {path} cannot be read: {error.strerror}") from None
    if not regular:
        raise ValueError(f"the credential file {path} is no regular file; give one that holds the credential")
    if found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise ValueError(f"the credential file {path} has to be yours and private: chmod 600 {path}")
    if len(text) < MIN_CREDENTIAL or any(character.isspace() for character in text):
        raise ValueError(
            f"the credential file {path} has to hold one word of {MIN_CREDENTIAL} characters or more; make one with: "
            f"openssl rand -hex 32 > {path}"
        )
    return text
