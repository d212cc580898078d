"""Find the campaign, attempt or file that a URL names.

Each name is looked up among those that exist. No part of a URL ever becomes part of a file path.
"""

from __future__ import annotations

import re

from starlette.exceptions import HTTPException
from starlette.requests import Request

from tare.core.attempt import Attempt
from tare.core.safe_folder import SafeFolder
from tare.live.campaign_state import CampaignState
from tare.live.logs import find_streams
from tare.live.watch import FollowedCampaign, Hub

_NUMBERS = re.compile(r"(-?[0-9]{1,9})\.([0-9]{1,9})")


def hub_of(request: Request) -> Hub:
    """Return the hub, updated with the files on disk."""
    hub: Hub = request.app.state.hub
    hub.refresh()
    return hub


def find_campaign(hub: Hub, request: Request) -> FollowedCampaign:
    """Return the campaign that the URL names. Raises HTTPException 404."""
    found = hub.campaigns.get(request.path_params["name"])
    if found is None:
        raise HTTPException(404, "No campaign here is called that; it may have been moved or removed.")
    return found


def find_attempt(campaign_state: CampaignState, request: Request) -> Attempt:
    """Return the attempt that the URL names by its case, block and number. Raises HTTPException 404."""
    case, text = request.path_params["case"], request.path_params["attempt"]
    numbers = _NUMBERS.fullmatch(text)
    found = campaign_state.attempts.get((case, int(numbers[1]), int(numbers[2]))) if numbers else None
    if found is None or found.case not in campaign_state.cases:
        raise HTTPException(404, "This campaign has no such run.")
    return found


def find_stream(campaign_state: CampaignState, request: Request) -> tuple[Attempt, SafeFolder]:
    """Return the attempt, and the file of the stream that the URL names. Raises HTTPException 404."""
    attempt = find_attempt(campaign_state, request)
    folder = SafeFolder(campaign_state.folder, attempt.folder)
    stream = find_streams(folder).get(request.path_params["stream"])
    if stream is None:
        raise HTTPException(404, "This run has written no such file.")
    return attempt, stream


def whole_number(request: Request, name: str, default: int) -> int:
    """Return a query parameter as an integer of zero or more, or `default` if it is not one."""
    text = request.query_params.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else default
