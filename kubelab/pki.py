"""Create keys and certificates of a cluster with openssl."""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import yaml

from kubelab.processes import KubelabError

_DAYS = "30"
_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


class Identity(NamedTuple):
    """A certificate and its key."""

    certificate: Path
    key: Path


class Authority:
    """The certificate authority of a cluster; the API server and the kubelets trust its certificates."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.certificate = folder / "ca.crt"
        self.service_accounts = Identity(folder / "sa.pub", folder / "sa.key")
        self._key = folder / "ca.key"
        folder.mkdir(parents=True, exist_ok=True)
        if not self.certificate.exists():
            _openssl(
                "req", "-x509", *_KEY, "-days", _DAYS, "-subj", "/CN=kubelab",
                "-keyout", str(self._key), "-out", str(self.certificate),
            )  # fmt: skip
        if not self.service_accounts.certificate.exists():
            public, private = (str(one) for one in self.service_accounts)
            _openssl("genrsa", "-out", private, "2048")
            _openssl("rsa", "-in", private, "-pubout", "-out", public)

    def issue(self, name: str, user: str, groups: Sequence[str] = (), hosts: Sequence[str] = ()) -> Identity:
        """Return a certificate for `user` of `groups`, which may serve at `hosts`, such as ``IP:127.0.0.1``.

        If an identity with this file `name` exists, it is returned unchanged.
        """
        made = Identity(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        if made.certificate.exists():
            return made
        request, extension = self._folder / f"{name}.csr", self._folder / f"{name}.ext"
        alternatives = ",".join(hosts) or f"DNS:{name}"
        extension.write_text(f"subjectAltName={alternatives}\nextendedKeyUsage=serverAuth,clientAuth\n")
        subject = "".join(f"/O={group}" for group in groups) + f"/CN={user}"
        _openssl("req", *_KEY, "-subj", subject, "-keyout", str(made.key), "-out", str(request))
        _openssl(
            "x509", "-req", "-in", str(request), "-CA", str(self.certificate), "-CAkey", str(self._key),
            "-CAcreateserial", "-days", _DAYS, "-extfile", str(extension), "-out", str(made.certificate),
        )  # fmt: skip
        return made

    def write_kubeconfig(self, path: Path, url: str, identity: Identity) -> Path:
        """Write a kubeconfig for `url` with the certificate and key of `identity`; return `path`."""
        cluster = {"server": url, "certificate-authority-data": _encoded(self.certificate)}
        user = {
            "client-certificate-data": _encoded(identity.certificate),
            "client-key-data": _encoded(identity.key),
        }
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "kubelab", "cluster": cluster}],
            "users": [{"name": path.stem, "user": user}],
            "contexts": [{"name": "kubelab", "context": {"cluster": "kubelab", "user": path.stem}}],
            "current-context": "kubelab",
        }
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(document, sort_keys=False))
        return path


def _encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def _openssl(*arguments: str) -> None:
    try:
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise KubelabError("openssl is missing; on Debian: apt install openssl") from error
    except subprocess.CalledProcessError as error:
        raise KubelabError(f"openssl {arguments[0]}: {error.stderr.strip()}") from error
