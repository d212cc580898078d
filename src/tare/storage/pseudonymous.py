"""A view of a campaign for others: with pseudonyms for names that the site hides, and without secrets.

Older campaigns recorded reasons unchanged, and settings are what a study says. Both appear in pages that are
sent to others. What is not shown in this view stays unchanged: the folder itself is not meant to be sent.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import TypeVar, cast

import msgspec

from tare.core.attempt import Attempt
from tare.core.campaign import Campaign
from tare.core.case import Case
from tare.core.plan import Plan
from tare.core.printed_secrets import without_secrets
from tare.core.pseudonyms import Pseudonyms
from tare.core.redaction import HIDDEN, redact_text, redact_variables
from tare.core.values import Scalar, Settings
from tare.storage.campaign import read_campaign
from tare.storage.journal import AttemptEnded, Event
from tare.storage.pseudonyms import read_pseudonyms

T = TypeVar("T")
_KEPT = frozenset({"id", "case", "environment", "evidence", "sha256", "started_at"})
"""Fields that are not replaced: they hold hashes and times, or name files."""


def read_shown(folder: Path, more: Iterable[str] = ()) -> Campaign:
    """Return the campaign in `folder` as others may see it; `more` words and patterns are replaced, too.

    Raises CampaignError as `read_campaign` does.
    """
    return shown_campaign(read_campaign(folder), read_pseudonyms(folder, more))


def shown_campaign(campaign: Campaign, pseudonyms: Pseudonyms) -> Campaign:
    """Return `campaign` with the pseudonyms `pseudonyms`, and without what looks like a secret."""
    view = PseudonymousView(pseudonyms)
    return msgspec.structs.replace(
        campaign,
        plan=view.plan(campaign.plan),
        attempts=tuple(map(view.attempt, campaign.attempts)),
        environments=view.signed(campaign.environments),
        reparse=view.signed(campaign.reparse),
        pseudonyms=pseudonyms,
    )


class PseudonymousView:
    """Turns values into the form that others may see; each distinct text is processed once."""

    def __init__(self, pseudonyms: Pseudonyms) -> None:
        self._pseudonyms = pseudonyms
        self._signed: dict[str, str] = {}
        self._redacted = functools.cache(redact_text)

    def plan(self, plan: Plan) -> Plan:
        """Return the plan, with secrets in its settings hidden, judged by their names and values."""
        settings = _Settings()
        return self.signed(
            msgspec.structs.replace(
                plan,
                cases=settings.shown_cases(plan.cases),
                reference=settings.shown(plan.reference),
                question=self._pseudonyms.text(plan.question),
                notes=tuple(map(self._pseudonyms.text, plan.notes)),
            )
        )

    def attempt(self, attempt: Attempt) -> Attempt:
        """Return the attempt without secrets, also if an older version of Tare wrote it."""
        texts = (attempt.reason, attempt.transport, attempt.chosen, attempt.placement)
        is_plain = not any((*texts, attempt.printed, attempt.left_out)) and not any(
            one.at for one in attempt.series
        )
        return self.signed(attempt if is_plain else without_secrets(attempt, self._redacted))

    def event(self, event: Event) -> Event:
        """Return an event of a journal; an ended attempt in it is shown as others may see it."""
        return AttemptEnded(self.attempt(event.attempt)) if isinstance(event, AttemptEnded) else event

    def signed(self, value: T) -> T:
        """Return `value` with pseudonyms in all its texts, and in the keys of its mappings."""
        return cast("T", self._walked(value)) if self._pseudonyms.entries else value

    def _walked(self, value: object) -> object:
        if isinstance(value, str):
            return value if isinstance(value, enum.Enum) else self._text(value)
        if isinstance(value, msgspec.Struct):
            fields = {name: getattr(value, name) for name in value.__struct_fields__ if name not in _KEPT}
            walked = {name: self._walked(one) for name, one in fields.items()}
            changed = {name: one for name, one in walked.items() if one is not fields[name]}
            return msgspec.structs.replace(value, **changed) if changed else value
        if isinstance(value, Mapping):
            return {self._walked(name): self._walked(one) for name, one in value.items()}
        if isinstance(value, list):
            is_of_numbers = bool(value) and isinstance(value[0], float)  # figures: there may be millions
            return value if is_of_numbers else [self._walked(one) for one in value]
        if isinstance(value, tuple):
            items = (self._walked(one) for one in value)
            return value._make(items) if hasattr(value, "_make") else tuple(items)  # a NamedTuple
        return value

    def _text(self, text: str) -> str:
        if text not in self._signed:
            self._signed[text] = self._pseudonyms.only(text)
        return self._signed[text]


class _Settings:
    """Hides secrets in settings; two different values stay different, so that cases stay distinct."""

    def __init__(self) -> None:
        self._shown: dict[tuple[str, Scalar], Scalar] = {}
        self._taken: dict[tuple[str, str], int] = {}

    def shown(self, settings: Settings) -> Settings:
        if str not in map(type, settings.values()):
            return settings
        return {name: self._value(name, value) for name, value in settings.items()}

    def shown_cases(self, cases: tuple[Case, ...]) -> tuple[Case, ...]:
        values = chain.from_iterable([case.parameters.values() for case in cases])
        if str not in set(map(type, values)):
            return cases
        shown = tuple(map(self._shown_case, cases))
        return shown if shown != cases else cases

    def _shown_case(self, case: Case) -> Case:
        shown = self.shown(case.parameters)
        return case if shown is case.parameters else msgspec.structs.replace(case, parameters=shown)

    def _value(self, name: str, value: Scalar) -> Scalar:
        if not isinstance(value, str):
            return value
        if (name, value) not in self._shown:
            text = redact_variables({name: value})[name]
            if text != value:
                number = self._taken[name, text] = self._taken.get((name, text), 0) + 1
                if number > 1:
                    text = text.replace(HIDDEN, f"{HIDDEN[:-1]} {number})")
            self._shown[name, value] = text
        return self._shown[name, value]
