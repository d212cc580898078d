"""Call Grid Engine's commands on this machine or on its login node: qsub, qstat, qacct and qdel."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError, fromstring

from tare.core.errors import BackendError
from tare.core.units import whole_number
from tare.plugins.backends.batch.commands import CommandQueue, message_of
from tare.plugins.backends.batch.phases import Phase
from tare.plugins.backends.batch.queue import QueuedJob, Request
from tare.plugins.backends.gridengine.script import CONTEXT, comment_in
from tare.plugins.backends.gridengine.states import end_of, is_out, obstacle_of, phase_of

_MOST_IDS = 200  # in one command line
_MOST_REASONS = 20  # jobs whose reasons for waiting are queried at a time
_JOB_ID = re.compile(r"\s*([0-9]{1,18})(?:\.\S+)?\s*")
_GONE = ("does not exist", "has deleted job", "has registered the job", "is already in deletion")
_OWN_JOBS = 'exec qstat -xml -u "$(id -un)"'


class GridEngine(CommandQueue):
    """Calls Grid Engine's commands (see batch.queue.Queue)."""

    name = "gridengine"
    system = "Grid Engine"
    cancel_command = "qdel"

    def submit(self, script: Path, request: Request) -> str:
        """Submit the script, which holds the request; return the id of its job (see Queue)."""
        output = self._call(["qsub", "-terse", str(script)])
        found = _JOB_ID.fullmatch(output)
        if not found:
            raise BackendError(f"qsub printed {output.strip()!r} instead of a job's number")
        return found[1]

    def check(self, script: Path) -> str:
        """Return Grid Engine's message that it would run the script.

        Raises BackendError with its message if it never would.
        """
        return " ".join(self._call(["qsub", "-w", "v", str(script)]).split())

    def jobs(self, ids: Collection[str] = ()) -> list[QueuedJob]:
        """Return this user's jobs (see Queue).

        With `ids`, they have reasons for waiting; without, comments.
        """
        found = list(parse_jobs(self._call(["sh", "-c", _OWN_JOBS], name="qstat")))
        if ids:
            waiting = [job.id for job in found if job.phase is Phase.QUEUED and job.id in ids]
            reasons = parse_reasons(self._details(waiting[:_MOST_REASONS]))
            return [
                job._replace(reason=reasons.get(job.id, ""), obstacle=obstacle_of(job.state, job.id))
                for job in found
            ]
        comments = parse_comments(self._details([job.id for job in found if job.name.startswith("tare-")]))
        return [job._replace(comment=comments.get(job.id, "")) for job in found]

    def account(self, ids: Collection[str]) -> list[QueuedJob]:
        """Return how jobs ended, from the cluster's accounting, if this host can read it (see Queue)."""
        found = []
        for job in ids:
            try:
                entry = parse_accounting(self._call(["qacct", "-j", job]))
            except BackendError:  # not in the accounting yet, or no accounting on this host
                continue
            phase, state = end_of(entry)
            found.append(QueuedJob(job, phase, state, entry.get("jobname", "")))
        return found

    def cancel(self, ids: Collection[str]) -> None:
        """Delete jobs. A job that is already over is no error (see Queue)."""
        numbers = sorted(ids)
        for start in range(0, len(numbers), _MOST_IDS):
            done = self._run(["qdel", *numbers[start : start + _MOST_IDS]])
            if done.returncode != 0:
                message = message_of(done)
                if not all(any(words in line for words in _GONE) for line in message.splitlines()):
                    raise BackendError(f"qdel: {' '.join(message.split())}")

    def away(self, nodes: Collection[str], began_at: float | None, *, is_drained_away: bool) -> Iterator[str]:
        """Yield the queue instances of `nodes` that are in error or do not answer (see Queue)."""
        wanted = ",".join(f"*@{node}" for node in sorted(nodes))
        for name, state in parse_instances(self._call(["qstat", "-f", "-xml", "-q", wanted])):
            if is_out(state, is_disabled_out=is_drained_away):
                yield f"by qstat queue {name} is {state}"

    def parallel_environment(self, name: str) -> dict[str, str]:
        """Return a parallel environment (sge_pe(5)). Raises BackendError, also if it does not exist."""
        return parse_table(self._call(["qconf", "-sp", name]))

    def queues(self) -> list[str]:
        """Return the names of the cluster queues. Raises BackendError."""
        return self._call(["qconf", "-sql"]).split()

    def _details(self, ids: Sequence[str]) -> str:
        """Return qstat's details of jobs as XML. Return an empty text if the jobs are gone."""
        if not ids:
            return ""
        try:
            return self._call(["qstat", "-xml", "-j", ",".join(ids[:_MOST_IDS])])
        except BackendError:
            return ""


def parse_jobs(text: str) -> Iterator[QueuedJob]:
    """Yield the jobs of ``qstat -xml``. Tasks of job arrays are not Tare's and are skipped.

    Raises BackendError.
    """
    for job in _xml(text).iter("job_list"):
        number, state = whole_number(_text(job, "JB_job_number")), _text(job, "state")
        if number is not None and job.find("tasks") is None:
            yield QueuedJob(str(number), phase_of(state), state, _text(job, "JB_name"))


def parse_comments(text: str) -> dict[str, str]:
    """Return the comment in each job's context, by job, from ``qstat -xml -j``. It names the job's owner."""
    found = {}
    for job in _details(text, "djob_info"):
        for variable in job.iter("context_list"):
            if _text(variable, "VA_variable") == CONTEXT:
                found[_text(job, "JB_job_number")] = comment_in(_text(variable, "VA_value"))
    return found


def parse_reasons(text: str) -> dict[str, str]:
    """Return why jobs wait, from ``qstat -xml -j``. A job without its own message has that of all queues."""
    if not text:
        return {}
    ids = [_text(job, "JB_job_number") for job in _details(text, "djob_info")]
    root = _xml(text)
    everywhere = [_text(one, "MES_message") for part in root.iter("SME_global_message_list") for one in part]
    found = {one: everywhere[-1] for one in ids if everywhere}
    for part in root.iter("SME_message_list"):
        for message in part:
            for number in message.iter("ULNG_value"):
                found[(number.text or "").strip()] = _text(message, "MES_message")
    for job in _details(text, "djob_info"):
        for error in job.iter("QIM_message"):  # why it is in the state Eqw
            found[_text(job, "JB_job_number")] = (error.text or "").strip()
    return {job: reason for job, reason in found.items() if job in ids and reason}


def parse_instances(text: str) -> Iterator[tuple[str, str]]:
    """Yield the name and state of each queue instance of ``qstat -f -xml``. Raises BackendError."""
    for instance in _xml(text).iter("Queue-List"):
        yield _text(instance, "name"), _text(instance, "state")


def parse_accounting(text: str) -> dict[str, str]:
    """Return the last record of ``qacct -j``.

    Records of parts that ran on other nodes come before the job's own.
    """
    return parse_table(re.split(r"^=+$", text, flags=re.MULTILINE)[-1])


def parse_table(text: str) -> dict[str, str]:
    """Parse lines of a name and a value, as qconf and qacct print them."""
    rows = (line.split(None, 1) for line in text.splitlines())
    return {row[0]: row[1].strip() for row in rows if len(row) == 2}


def _details(text: str, part: str) -> list[Element]:
    return [job for found in _xml(text).iter(part) for job in found] if text else []


def _xml(text: str) -> Element:
    try:
        return fromstring(text)  # noqa: S314  # printed by this user's own qstat
    except ParseError as error:
        raise BackendError(f"qstat printed what is no XML: {error}") from error


def _text(element: Element, name: str) -> str:
    return (element.findtext(name) or "").strip()
