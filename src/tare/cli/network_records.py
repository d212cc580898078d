"""What curves predict, and how much network programs need, as sentences and as records of ``--json``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tare.report.words.network_need import prediction_sentence, tolerance_sentence
from tare.terminal.output import plain

if TYPE_CHECKING:
    from tare.core.prediction import Prediction, Tolerance


def prediction_records(found: Sequence[Prediction]) -> list[dict[str, object]]:
    """Return the records of `tare predict --json`."""
    return [{"sentence": plain(prediction_sentence(one)), "prediction": one} for one in found]


def tolerance_records(found: Sequence[Tolerance]) -> list[dict[str, object]]:
    """Return the records of `tare tolerance --json`."""
    return [{"sentence": plain(tolerance_sentence(one)), "tolerance": one} for one in found]


def network_lines(predicted: Sequence[Prediction], tolerated: Sequence[Tolerance]) -> list[str]:
    """Return a line for each prediction and each tolerance, as the report's section *Why?* has them."""
    return [
        *(plain(f"Predicted: {prediction_sentence(one)}.") for one in predicted),
        *(plain(f"Tolerance: {tolerance_sentence(one)}.") for one in tolerated),
    ]
