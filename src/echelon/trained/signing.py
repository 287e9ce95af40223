"""Signatures of model files, by Ed25519 keys in files.

A private key belongs to one person or machine and stays there; its public key goes to those who
load files. The signature is of the checksums of a model file, which cover all of its content.
"""

from __future__ import annotations

import base64
import errno
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from .._utils.packages import require_extra

# Nothing else that the same key signs can be taken for a model.
_PURPOSE = b"echelon model file, checksums:\n"
_ALGORITHM = "ed25519"
_NEEDS = ("Signatures need", "sign", "cryptography")


def make_keys(path: str | Path) -> tuple[Path, Path]:
    """Make a pair of keys to sign model files with.

    Parameters
    ----------
    path : str or Path
        File of the private key, which must not be there yet; only its owner can read it. The
        public key goes to the same name with ``.pub`` after it.

    Returns
    -------
    private, public : Path

    Raises
    ------
    FileExistsError
        If one of the files is there: a key that is overwritten cannot be had again.
    """
    require_extra(*_NEEDS)
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = Path(path)
    public = private.with_name(f"{private.name}.pub")
    for place in (private, public):
        if place.exists():
            raise FileExistsError(errno.EEXIST, "a file of that name is there", str(place))
    key = Ed25519PrivateKey.generate()
    secret = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    shown = key.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    with open(os.open(private, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(secret)
    with open(public, "xb") as file:
        file.write(shown)
    return private, public


def sign(content: bytes, key: str | Path) -> dict[str, str]:
    """The signature of some content by the private key in a file, as JSON can hold it."""
    require_extra(*_NEEDS)
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    def read(text: bytes) -> Any:
        return form.load_pem_private_key(text, password=None)

    found = _read_key("key", "private", key, read, Ed25519PrivateKey)
    signature = base64.b64encode(found.sign(_PURPOSE + content)).decode("ascii")
    return {"algorithm": _ALGORITHM, "signature": signature}


def is_signed(content: bytes, stored: dict[str, Any], trusted_keys: Sequence[str | Path]) -> bool:
    """Whether one of the public keys in files has signed this content."""
    require_extra(*_NEEDS)
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key as read

    keys = [_read_key("trusted_keys", "public", k, read, Ed25519PublicKey) for k in trusted_keys]
    try:
        signature = base64.b64decode(stored["signature"], validate=True)
    except (KeyError, TypeError, ValueError):
        return False
    for key in keys if stored.get("algorithm") == _ALGORITHM else ():
        with suppress(InvalidSignature):
            key.verify(signature, _PURPOSE + content)
            return True
    return False


def _read_key(argument: str, which: str, place: str | Path, read: Any, kind: type) -> Any:
    try:
        found = read(Path(place).read_bytes())
    except OSError as error:
        raise ValueError(
            f"{argument} must name a file with a {which} key; {place} cannot be read: "
            f"{error.strerror}."
        ) from None
    except (ValueError, TypeError):
        found = None
    if not isinstance(found, kind):
        raise ValueError(
            f"{argument} must name a file with a {which} key, as `echelon keygen` makes it; found "
            f"{place}."
        )
    return found
