"""Read kubeconfig files as kubectl does: several are one, and paths in them are relative to their file.

Source: k8s.io/client-go, tools/clientcmd.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
import yaml

from tare.core.decoding import convert
from tare.core.errors import UsageError
from tare.core.user_files import read_given

_PATHS = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
_Kind = TypeVar("_Kind")


class Context(msgspec.Struct, frozen=True):
    """A context: the names of its cluster and user."""

    cluster: str = ""
    user: str = ""


class ClusterEntry(msgspec.Struct, frozen=True, rename="kebab"):
    """A cluster: its address, who has signed its certificate, and the proxy before it."""

    server: str
    certificate_authority: str | None = None
    certificate_authority_data: str | None = None
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""


class Variable(msgspec.Struct, frozen=True):
    """An environment variable of a plug-in."""

    name: str
    value: str = ""


class PlugIn(msgspec.Struct, frozen=True, rename="camel"):
    """A command that prints credentials (client.authentication.k8s.io, ExecCredential)."""

    api_version: str
    command: str
    args: list[str] | None = None
    env: list[Variable] | None = None
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = "IfAvailable"


class UserEntry(msgspec.Struct, frozen=True, rename="kebab"):
    """A user: one of the forms of credentials, and as whom requests are made."""

    token: str | None = None
    token_file: str | None = msgspec.field(name="tokenFile", default=None)
    client_certificate: str | None = None
    client_certificate_data: str | None = None
    client_key: str | None = None
    client_key_data: str | None = None
    username: str | None = None
    password: str | None = None
    exec: PlugIn | None = None
    auth_provider: object = None
    impersonate: str = msgspec.field(name="as", default="")
    impersonate_uid: str = msgspec.field(name="as-uid", default="")
    impersonate_groups: list[str] | None = msgspec.field(name="as-groups", default=None)
    impersonate_extra: dict[str, list[str]] | None = msgspec.field(name="as-user-extra", default=None)


class Entry(msgspec.Struct, frozen=True):
    """The chosen context with its cluster and user."""

    context: str
    cluster: ClusterEntry
    user: UserEntry = UserEntry()


class _Loader(yaml.SafeLoader):
    """Reads names, tokens and times as text: ``name: 2024-01-01`` and ``token: 0123`` are no numbers."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in known if tag.rpartition(":")[2] in {"bool", "null", "merge"}]
    for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def kubeconfig_files(environment: Mapping[str, str], home: Path) -> list[Path]:
    """Return the files that kubectl would read: those of KUBECONFIG, or the one in the home."""
    named = [part for part in environment.get("KUBECONFIG", "").split(os.pathsep) if part]
    return [Path(part).expanduser() for part in named] or [home / ".kube" / "config"]


def read_entry(files: Sequence[Path], context: str | None) -> Entry | None:
    """Return the context of that name, or the current one; None where the files name no context at all.

    Files that are missing have none. The first file that names a thing counts. Raises UsageError.
    """
    read = [(path, document) for path in files if (document := read_document(path)) is not None]
    if not any(document.get("contexts") for _, document in read) and context is None:
        return None
    name = context or next((str(one["current-context"]) for _, one in read if one.get("current-context")), "")
    where = ", ".join(map(str, files))
    if not name:
        raise UsageError(f"{where}: no context is the current one; name one: 'context' in the site file")
    chosen = _find(read, "contexts", name, Context)
    if chosen is None:
        known = ", ".join(repr(one)[1:-1] for one in _names(read, "contexts")[:10]) or "none"
        raise UsageError(f"{where}: there is no context {name!r}; there are: {known}")
    cluster = _find(read, "clusters", chosen.cluster, ClusterEntry)
    if cluster is None:
        raise UsageError(f"{where}: context {name!r} names cluster {chosen.cluster!r}, which is not there")
    user = _find(read, "users", chosen.user, UserEntry) if chosen.user else UserEntry()
    if user is None:
        raise UsageError(f"{where}: context {name!r} names user {chosen.user!r}, which is not there")
    return Entry(name, cluster, user)


def read_document(path: Path) -> dict[str, object] | None:
    """Return the content of a kubeconfig file; None where it is missing. Raises UsageError."""
    try:
        text = read_given(path).decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    try:
        found = yaml.load(text, _Loader)  # noqa: S506  # it is a SafeLoader
    except (yaml.YAMLError, RecursionError) as error:
        raise UsageError(f"{path}: it is no kubeconfig: {' '.join(str(error).split())[:200]}") from error
    if not isinstance(found, dict):
        raise UsageError(f"{path}: it is no kubeconfig: it has no clusters and contexts")
    return found


def _items(document: Mapping[str, object], kind: str) -> Iterator[dict[str, object]]:
    listed = document.get(kind)
    yield from (one for one in (listed if isinstance(listed, list) else ()) if isinstance(one, dict))


def _names(read: Sequence[tuple[Path, dict[str, object]]], kind: str) -> list[str]:
    return list(dict.fromkeys(str(one.get("name")) for _, document in read for one in _items(document, kind)))


def _find(
    read: Sequence[tuple[Path, dict[str, object]]], kind: str, name: str, form: type[_Kind]
) -> _Kind | None:
    """Return the first entry of that name, with paths made absolute. Raises UsageError if it is damaged."""
    for path, document in read:
        for one in _items(document, kind):
            if str(one.get("name")) == name:
                try:
                    return convert(_absolute(one.get(kind[:-1]) or {}, path.parent), form)
                except msgspec.ValidationError as error:
                    raise UsageError(f"{path}: {kind[:-1]} {name!r}: {error}") from error
    return None


def _absolute(entry: object, folder: Path) -> object:
    if not isinstance(entry, dict):
        return entry
    entry = {key: value for key, value in entry.items() if value is not None}
    for key in _PATHS:
        if isinstance(entry.get(key), str) and entry[key]:
            entry[key] = str(folder / entry[key])
    plug_in = entry.get("exec")
    if isinstance(plug_in, dict) and os.sep in str(plug_in.get("command", "")):
        entry["exec"] = plug_in | {"command": str(folder / str(plug_in["command"]))}
    return entry
