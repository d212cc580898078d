"""The backend `process` as a plug-in: programs run on this machine, or on hosts of the site's agent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from tare.core.backend_options import BackendOptions
from tare.core.backend_plugin import DirectBackend, OptionsReader, Session
from tare.core.job import HostRunner


class ProcessPlugin(DirectBackend[msgspec.Struct]):
    """Starts processes on this machine or through the site's agent. It has no options."""

    name = "process"
    title = "processes"
    summary = "processes of this machine, or of hosts that the site's agent reaches, as ssh does"

    def read_options(self, written: msgspec.Struct | None, reader: OptionsReader) -> BackendOptions:
        """Return empty options (see BackendPlugin)."""
        return BackendOptions()

    @contextmanager
    def open(self, session: Session) -> Iterator[HostRunner]:
        """Yield a runner that starts processes and ends them with the session (see DirectBackend)."""
        from tare.plugins.backends.process.backend import ProcessBackend

        with ProcessBackend(
            label=session.label,
            agent=session.site.agent,
            hosts=session.hosts,
            env=session.env,
            boosts=session.boosts,
        ) as runner:
            yield runner


BACKEND = ProcessPlugin()
