"""Read the figures of a campaign anew, from Python."""

from __future__ import annotations

import os

from tare.api.arguments import campaign_folder, options_as_arguments
from tare.api.campaign import Campaign
from tare.api.study_plan import StudyLike, study_source
from tare.app.reparsing import reparse
from tare.storage.pseudonymous import read_shown


def reparse_campaign(
    campaign: str | os.PathLike[str], study: StudyLike, folder: str | os.PathLike[str]
) -> Campaign:
    """Read the outputs of the campaign `campaign` anew, as `tare reparse` does; return the new campaign.

    `study` is what `plan_study` takes: the study with its mended figures or checks. It must have the same
    cases and run the same programs; nothing runs. `folder` is that of the new campaign; the old one stays as
    it is.

    Raises FileFaults with every fault of the study, UsageError if it would run anything else or `folder`
    holds something, CampaignLocked if another process runs the campaign, CampaignError if evidence is missing
    or has changed.
    """
    source, target = campaign_folder("campaign", campaign), campaign_folder("folder", folder)
    with options_as_arguments():
        reparse(source, study_source(study), target)
    return Campaign(read_shown(target))
