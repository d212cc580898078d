"""What networks' own curves predict for a program, and how much network it needs."""

from __future__ import annotations

import msgspec

from tare.core.interval import Bounded


class PredictedCalls(msgspec.Struct, frozen=True, kw_only=True):
    """What the calls of one function and size class are predicted to cost more.

    `calls` are those of a rank; `exposed` is the share of their cost that computation does not hide.
    `remarks` name what is extrapolated or modelled.
    """

    function: str
    size_class: int
    comm_size: int
    calls: float
    reference_call_s: float
    contender_call_s: float
    exposed: float
    difference_s: float
    remarks: tuple[str, ...] = ()


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """The predicted difference of a program between its network and another one.

    - `case` is the profiled case, on the network `reference`; `contender` is the other network. Platforms are
      `reference_platform` and `contender_platform`.
    - `nodes` are those of the case.
    - `difference_s` is predicted; `ratio` is that of the wall times.
    - The interval of `ratio` is that of what as many runs on both networks would measure.
    - `measured_s` and `measured_ratio` are those of profiled runs on both networks; None if there are none.
    - `is_inside` says whether the measured ratio's own interval and the predicted one meet; None where
      nothing was measured, and where calls without a curve take more than 1 % of the time.
    - `uncovered_s` is the time of the reference in calls for which there is no curve, or whose messages are
      not known (neighbourhood collectives, one-sided), by function.
    - `shaped` names the networks whose token bucket lets bursts pass at once, and so widens the interval.
    - `refusal` says why nothing is predicted.
    """

    workload: str
    case: str
    reference: str | None
    contender: str | None
    reference_platform: str
    contender_platform: str
    nodes: int | None = None
    reference_s: float = 0.0
    difference_s: Bounded | None = None
    ratio: Bounded | None = None
    measured_s: Bounded | None = None
    measured_ratio: Bounded | None = None
    is_inside: bool | None = None
    rows: tuple[PredictedCalls, ...] = ()
    uncovered_s: dict[str, float] = {}
    remarks: tuple[str, ...] = ()
    shaped: tuple[str, ...] = ()
    refusal: str = ""

    @property
    def uncovered_share(self) -> float:
        """Return the share of the reference's wall time in calls for which there is no curve."""
        return sum(self.uncovered_s.values()) / self.reference_s if self.reference_s else 0.0


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """The added latency in seconds, and the bandwidth of a node in bytes per second, that cost `share`.

    An interval has no high end for the latency where all messages may be hidden by computation. The bandwidth
    is None where nothing is sent between nodes, or where that of its own network is not known; its interval
    goes down to where the link is busy all the time, as bytes may pass while ranks compute.
    """

    share: float
    latency_s: Bounded | None = None
    bandwidth: Bounded | None = None


class Network(msgspec.Struct, frozen=True, kw_only=True):
    """Another network, and what it costs a program if no message is hidden, as a share of the wall time.

    - `added_latency_s` is how much more latency it has. `bytes_per_s` is its bandwidth between two nodes;
      None if it is not known.
    - `slowdown` is by both; by the latency alone where one of the bandwidths is not known (`is_whole` is
      false), although bytes are sent. Its high end has large messages take three latencies, and
      nothing saved by what is better. `sure` is what it costs at least: the latency of messages that
      are not non-blocking or as much of it as the time in them on its own network is, less what more
      bandwidth saves, or how much longer its link takes for all bytes than the run took.
    - `measured` is the ratio of wall times of profiled runs on both; None without such runs.
    """

    platform: str
    network: str | None
    added_latency_s: Bounded
    bytes_per_s: float | None = None
    slowdown: Bounded
    sure: Bounded
    is_whole: bool = True
    measured: Bounded | None = None


class Tolerance(msgspec.Struct, frozen=True, kw_only=True):
    """How a program slows with added latency and with less bandwidth.

    - `wall_s` is the wall time on its own network. `messages` follow one another between nodes, for a rank;
      `hidden` of them are non-blocking, and computation may hide them; `announced` are of more than 64 KiB,
      and may take three latencies; `chained` are others for which its receives may have waited, at most.
      `n_bytes` a node receives in a run.
    - The slowdown by an added latency L is messages · L / wall; by bandwidth B it is bytes · (1/B − 1/B0) /
      wall, where B0 is the rate of its own link, or else the bandwidth of large messages that its curve has.
    - `uncounted` are functions that send data between nodes in messages whose number is not known, such as
      one-sided ones. With some, the program stands less than what is given.
    """

    workload: str
    case: str
    platform: str
    network: str | None
    nodes: int
    n_runs: int = 0
    wall_s: float = 0.0
    messages: float = 0.0
    hidden: float = 0.0
    announced: float = 0.0
    chained: float = 0.0
    n_bytes: float = 0.0
    link_bytes_per_s: float | None = None
    uncounted: tuple[str, ...] = ()
    limits: tuple[Limit, ...] = ()
    networks: tuple[Network, ...] = ()
    refusal: str = ""
