"""Prove that objects were created by sessions of this campaign's own folder, and not by those of a copy.

A copied folder has the campaign's hash, if it has the same path on another host. So its objects have the same
names and labels. Their annotations name the session that created them, and the files of its folder.
"""

from __future__ import annotations

from typing import NamedTuple

from tare.core.errors import BackendError
from tare.plugins.backends.kubernetes.objects import naming
from tare.plugins.backends.kubernetes.objects.observed import SeenMeta
from tare.plugins.backends.ownership.sessions import Fate, judge, parse


class NotOwn(BackendError):
    """An object has the name or label of this campaign, and nothing proves that this campaign created it."""


class CreatedBy(NamedTuple):
    """A session of a campaign: its label, and the campaign's folder with the numbers of its files.

    See storage.campaign.file_numbers.
    """

    campaign: str
    session: str = ""
    files: str = ""
    folder: str = ""

    @property
    def annotations(self) -> dict[str, str]:
        """Return the annotations of what it creates."""
        known = {naming.FOLDER: self.folder, naming.SESSION: self.session, naming.FILES: self.files}
        return {name: value for name, value in known.items() if value}

    def is_own(self, meta: SeenMeta) -> bool:
        """Return whether this campaign created an object."""
        return not self._doubt(meta)

    def require(self, kind: str, meta: SeenMeta) -> None:
        """Raise NotOwn, with the cure, unless this campaign created an object."""
        if why := self._doubt(meta):
            raise NotOwn(
                f"{kind} {meta.name} in namespace {meta.namespace} may be that of a copy of this campaign: "
                f"{why}. Where a copy of this folder runs on another host, rename this folder, and run the "
                "command with the new name. Where none does, delete what is left, and run the same command: "
                f"kubectl delete mpijobs,jobs,pods,configmaps -n {meta.namespace} "
                f"-l {naming.CAMPAIGN}={self.campaign}"
            )

    def _doubt(self, meta: SeenMeta) -> str:
        """Return why it may be another's; empty if it is proven to be this campaign's own.

        The numbers of files are the same on all hosts that share the folder. If they differ, the session must
        be one of this host and user that has ended: the folder's journal is locked by this process.
        """
        label = meta.annotations.get(naming.SESSION, "")
        if label == self.session or (self.files and meta.annotations.get(naming.FILES, "") == self.files):
            return ""
        parsed = parse(label)
        if parsed is None:
            return (
                f"its session's label is none of this version: {label!r}" if label else "it names no session"
            )
        if parsed.session.campaign != self.campaign:
            return f"a session of campaign {parsed.session.campaign} created it"
        fate = judge(label)
        match fate.fate:
            case Fate.DEAD:
                return ""
            case Fate.ALIVE:
                return f"its session runs here, as process {parsed.session.pid}"
            case Fate.BEFORE_BOOT | Fate.UNKNOWN:
                return fate.why
