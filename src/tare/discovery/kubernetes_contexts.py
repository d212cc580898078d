"""Find the contexts of kubeconfig files: those that KUBECONFIG names, or ~/.kube/config."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec

from tare.core.decoding import convert
from tare.core.errors import UsageError
from tare.discovery.commands import Report
from tare.discovery.kubernetes_facts import Context
from tare.plugins.backends.kubernetes.api.kubeconfig import kubeconfig_files, read_document

_Text = Annotated[str, msgspec.Meta(min_length=1)]


class _Inner(msgspec.Struct, frozen=True):
    namespace: str | None = None


class _Named(msgspec.Struct, frozen=True):
    name: _Text
    context: _Inner | None = None


class _Config(msgspec.Struct, frozen=True):
    contexts: list[_Named] | None = None
    current: str | None = msgspec.field(name="current-context", default=None)


def find_contexts(env: Mapping[str, str], home: Path, report: Report) -> tuple[Context, ...]:
    """Return the contexts, the current one first; of two with one name, the first, as kubectl has it.

    A file that cannot be read is reported; one that is not there has none.
    """
    contexts: dict[str, Context] = {}
    current = ""
    for path in kubeconfig_files(env, home):
        config = _read(path, report)
        current = current or config.current or ""
        for one in config.contexts or ():
            inner = one.context or _Inner()
            context = Context(
                name=one.name,
                kubeconfig=str(path),
                namespace=inner.namespace or "default",
            )
            contexts.setdefault(one.name, context)
    found = [msgspec.structs.replace(one, is_current=one.name == current) for one in contexts.values()]
    return tuple(sorted(found, key=lambda one: not one.is_current))


def _read(path: Path, report: Report) -> _Config:
    try:
        return convert(read_document(path) or {}, _Config)
    except UsageError as error:
        report(f"contexts of {path}: {error}")
    except msgspec.ValidationError as error:
        report(f"contexts of {path}: it is no kubeconfig: {error}")
    return _Config()
