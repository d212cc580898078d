"""List jobs that campaigns left in queues. PSI/J cannot list them, so they are read from records."""

from __future__ import annotations

from collections.abc import Iterator

from tare.core.backend_plugin import Leftover, Surroundings
from tare.core.errors import BackendError
from tare.plugins.backends.batch.commands import Reach
from tare.plugins.backends.batch.leftovers import left_in
from tare.plugins.backends.psij.queue import PsijQueue
from tare.plugins.backends.psij.register import Register, campaigns_folder, registers


def left(surroundings: Surroundings) -> Iterator[Leftover]:
    """Yield the recorded jobs that are not over. Delete the records of jobs that are over."""
    for register in registers(campaigns_folder(surroundings.env)):
        try:
            yield from _left_of(register, surroundings)
        except BackendError as error:
            surroundings.report(f"the jobs of {register.work} could not be looked at: {error}")


def _left_of(register: Register, surroundings: Surroundings) -> Iterator[Leftover]:
    env = {**surroundings.env, **(surroundings.lab.env if surroundings.lab else {})}
    for way in dict.fromkeys(entry.way for entry in register.entries().values()):
        queue = PsijQueue(register.executor, register, Reach(way, env), poll_s=1.0)
        yield from left_in(queue)
        queue.stop()  # keeps the files, which are needed if the campaign is continued
