"""Files of the web server (door): the built page inside the package, and `web.json` in the data directory."""

from __future__ import annotations

import contextlib
import os
import stat
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


class RecordFile:
    """`web.json`: readable by its owner alone."""

    def __init__(self, data_dir: str) -> None:
        self._path = os.path.join(data_dir, "web.json")

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
