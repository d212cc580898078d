"""Figures out of recordings whose every number is known."""

from __future__ import annotations

import math

import msgspec
import pytest

from tare.core.attempt import Attempt, State
from tare.core.telemetry import Epoch, Host, Span
from tare.core.telemetry_sources import figures as telemetry_figures
from tare.core.telemetry_sources import sources
from tare.core.workload import Better
from tare.plugins.collectors.sampler.figures import derive
from tare.plugins.collectors.sampler.recording import Head, HostRecording, Recording, Sample
from tare.plugins.collectors.sampler.timeline import timeline

STAGE = Epoch("run", began_at=100.0, ended_at=110.0)


def _sample(
    at_s: float,
    *,
    system: int = 0,
    idle: int = 0,
    switches: int = 0,
    running: int = 1,
    sent: int = 0,
    packets: int = 0,
    wire: int = 0,
    available: int = 900,
    mark: str = "",
) -> Sample:
    cpu = f"0 0 {system} {idle} 0 0 0 0 0 0"
    return Sample(
        at_s=at_s,
        wall_s=at_s + 95.0,
        mark=mark,
        lines={
            "cpu": [f"cpu  {cpu}", f"cpu0 {cpu}", f"ctxt {switches}", "intr 0", f"procs_running {running}"],
            "interfaces": [
                "lo: 0 0 0 0 0 0 0 0 50 1 0 0 0 0 0 0",
                f"eth0: 0 0 0 0 0 0 0 0 {sent} {packets} 0 2 0 0 0 0",
                f"fab0: 0 0 0 0 0 0 0 0 {wire} {packets} 0 0 0 0 0 0",
            ],
            "memory": ["MemTotal: 1000 kB", f"MemAvailable: {available} kB"],
        },
    )


def _host(name: str, *samples: Sample, machine: str = "") -> HostRecording:
    head = Head(sampler=1, node=name, period_s=1.0, machine=machine or name)
    return HostRecording(host=name, head=head, samples=samples)


def _recording(
    *hosts: HostRecording, epochs: tuple[Epoch, ...] = (STAGE,), known: dict[str, Host] | None = None
) -> Recording:
    reported = {one.host: Host(offset_s=0.0, offset_error_s=0.001) for one in hosts} | (known or {})
    return Recording(hosts=hosts, span=Span(hosts=reported, epochs=epochs, interface="eth0"))


RUN = (
    _sample(4.9, system=100, idle=1000, switches=50, sent=1000, packets=10, wire=1500),
    _sample(
        10.0, system=400, idle=1300, switches=500, running=3, sent=6000, packets=50, wire=8500, available=200
    ),
    _sample(15.1, system=500, idle=1800, switches=1070, running=2, sent=11000, packets=110, wire=16500),
)  # fmt: skip


def test_what_was_counted_between_the_first_sample_and_the_last_is_exact() -> None:
    found = derive(_recording(_host("n1", *RUN)))
    assert found["cpu_system"] == pytest.approx(100 * 400 / 1200)
    assert found["cpu_idle"] == pytest.approx(100 * 800 / 1200)
    assert found["cpu_system_peak"] == pytest.approx(100 * 300 / 600)
    assert found["cpu_busiest_core"] == pytest.approx(100 * 400 / 1200)
    assert found["context_switches"] == pytest.approx(1020 / 10.2)
    assert (found["network_sent"], found["network_packets"]) == (10000, 100)
    assert found["network_packet_size"] == 100
    assert found["network_rate"] == pytest.approx(10000 / 10.2)
    assert (found["wire_sent"], found["wire_packet_size"]) == (15000, 150)
    assert found["total_sent"] == 25000
    assert found["memory_peak"] == 800 * 1024
    assert found["run_queue"] == 2


def test_every_figure_is_in_the_catalogue() -> None:
    assert set(derive(_recording(_host("n1", *RUN)))) <= set(telemetry_figures())


def test_hosts_add_up_but_those_of_one_machine_share_its_cores() -> None:
    one, two = _host("n1", *RUN, machine="m"), _host("n1-pod", *RUN, machine="m")
    found = derive(_recording(one, two, known={"n1": Host(is_of_ranks=False)}))
    assert found["network_sent"] == 10000, "of the host of ranks alone"
    assert found["wire_sent"] == 15000, "of the node beneath alone"
    assert found["total_sent"] == 50000
    assert found["context_switches"] == pytest.approx(1020 / 10.2)


def test_the_wire_of_a_node_that_only_receives_is_not_the_end_that_leads_to_its_pods() -> None:
    def receiving(at_s: float, n: int) -> Sample:
        interfaces = [
            "lo: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
            f"fab0: {1050 * n} {n} 0 0 0 0 0 0 {10 * n} {n} 0 0 0 0 0 0",
            f"pod0: 0 0 0 0 0 0 0 0 {1000 * n} {n} 0 0 0 0 0 0",
        ]
        return Sample(at_s=at_s, wall_s=at_s + 95.0, mark="", lines={"interfaces": interfaces})

    found = derive(_recording(_host("n1", receiving(4.9, 0), receiving(10.0, 50), receiving(15.1, 100))))
    assert (found["wire_sent"], found["wire_packets"]) == (1000, 100)


def test_only_the_measured_stage_counts_from_its_own_mark_on() -> None:
    stages = (Epoch("mesh", 100.0, 105.0), Epoch("solve", 105.002, 110.0))
    marked = (RUN[0], _sample(10.01, sent=9000, packets=90, mark="solve"), RUN[2])
    found = derive(_recording(_host("n1", *marked), epochs=stages))
    assert (found["network_sent"], found["network_packets"]) == (2000, 20)


def test_what_comes_after_a_stage_is_no_part_of_it() -> None:
    ended = _sample(15.0001, sent=9000, packets=90, mark="run ended")
    found = derive(_recording(_host("n1", RUN[0], ended, RUN[2])))
    assert (found["network_sent"], found["network_packets"]) == (8000, 80)


def test_the_clock_of_a_host_that_is_ahead_is_set_back() -> None:
    late = tuple(
        Sample(at_s=one.at_s, wall_s=one.wall_s + 3600, mark="", lines=one.lines)
        for one in (_sample(0.0), *RUN, _sample(20.0, sent=99000, packets=990))
    )
    found = derive(_recording(_host("n1", *late), known={"n1": Host(offset_s=3600.0, offset_error_s=0.001)}))
    assert found["network_sent"] == 10000


@pytest.mark.parametrize(
    "known", [{"n1": Host(fault="its sampler was gone")}, {"n2": Host(fault="no sampler came up")}]
)
def test_part_of_a_run_is_no_figure(known: dict[str, Host]) -> None:
    assert derive(_recording(_host("n1", *RUN), known=known)) == {}


def test_a_recording_that_ended_before_the_run_is_no_figure() -> None:
    assert derive(_recording(_host("n1", *RUN[:2]))) == {}


def test_a_counter_that_went_back_is_left_out() -> None:
    reset = _sample(15.1, system=500, idle=1800, switches=3, sent=11000, packets=110, wire=16500)
    found = derive(_recording(_host("n1", RUN[0], reset)))
    assert "context_switches" not in found
    assert found["network_sent"] == 10000


def test_the_figures_of_an_attempt_are_series_with_unit_and_direction() -> None:
    attempt = Attempt(
        case="c",
        block=1,
        attempt=1,
        state=State.DONE,
        started_at=0.0,
        telemetry={"cpu_system": 12.5, "network_sent": 7.0},
    )
    reported = {one.fom: (one.unit, one.better, one.values) for one in attempt.telemetry_series}
    assert reported == {
        "telemetry.cpu_system": ("%", Better.LOWER, [12.5]),
        "telemetry.network_sent": ("B", None, [7.0]),
    }


def test_a_timeline_has_one_track_a_host_and_the_cores_of_a_machine_once() -> None:
    one, two = _host("n1", *RUN, machine="m"), _host("n1-pod", *RUN, machine="m")
    found = timeline(_recording(one, two, known={"n1": Host(is_of_ranks=False)}))
    node, pod = found.tracks
    assert node.values["cpu_system"] == pytest.approx((50.0, 100 * 100 / 600))
    assert set(node.values) == {"cpu_system", "cpu_busy"}
    assert pod.values["network_rate"] == pytest.approx((5000 / 5.1, 5000 / 5.1))
    assert set(pod.values) == {"network_rate"}
    assert pod.at == pytest.approx((105.0, 110.1))


def test_cores_of_which_nothing_is_known_are_not_idle() -> None:
    without = (msgspec.structs.replace(one, lines={"interfaces": one.lines["interfaces"]}) for one in RUN)
    (track,) = timeline(_recording(_host("n1", *without))).tracks
    assert set(track.values) == {"network_rate"}


def test_a_run_that_does_not_count_has_no_figures_of_telemetry_either() -> None:
    attempt = Attempt(
        case="c", block=1, attempt=1, state=State.INVALID, started_at=0.0, telemetry={"cpu_system": 12.5}
    )
    assert attempt.telemetry_series == []


def _ports(at_s: float, *lines: str) -> Sample:
    where = "/sys/class/infiniband/mlx5_0/ports/"
    return Sample(at_s=at_s, wall_s=at_s + 95.0, lines={"infiniband": [where + line for line in lines]})


@pytest.mark.parametrize("step_s", [3600.0, -3600.0])
@pytest.mark.parametrize("zero_at", [None, 95.0])
def test_a_clock_that_is_set_meanwhile_changes_nothing(step_s: float, zero_at: float | None) -> None:
    set_later = (
        RUN[0],
        *(msgspec.structs.replace(one, wall_s=one.wall_s + step_s) for one in (*RUN[1:], _sample(20.0))),
    )
    known = {"n1": Host(offset_s=0.0, offset_error_s=0.001, zero_at=zero_at)}
    assert derive(_recording(_host("n1", *set_later), known=known))["network_sent"] == 10000
    (track,) = timeline(_recording(_host("n1", *set_later), known=known)).tracks
    assert track.at == pytest.approx((105.0, 110.1, 115.0))


def test_all_that_a_stage_counted_is_in_also_where_clocks_err() -> None:
    """Samples of which nobody knows whether they came before or after the stage's ends are not its ends."""
    known = {"n1": Host(offset_s=0.0, offset_error_s=0.5)}
    inner = (_sample(5.2, sent=4000, packets=40), _sample(14.8, sent=8000, packets=80))
    found = derive(_recording(_host("n1", RUN[0], *inner, RUN[2]), known=known))
    assert found["network_sent"] == 10000


def test_idle_time_that_wavers_is_none_and_that_of_a_lost_core_unknown() -> None:
    before = _sample(4.9, idle=5000, system=0)
    wavering = derive(_recording(_host("n1", before, _sample(15.1, idle=4998, system=100))))
    assert wavering["cpu_system"] == 100
    assert wavering["cpu_idle"] == 0
    lost = derive(_recording(_host("n1", before, _sample(15.1, idle=100, system=100))))
    assert not any(name.startswith("cpu_system") for name in lost)


def test_the_peak_is_not_that_of_the_last_few_ticks() -> None:
    ends = _sample(14.98, system=500, idle=1800), _sample(15.0, system=502, idle=1800)
    assert derive(_recording(_host("n1", *RUN[:2], *ends)))["cpu_system_peak"] == pytest.approx(50)


def test_what_a_port_counted_that_was_reset_is_not_half_of_it() -> None:
    names = ("1/counters/port_xmit_data", "1/counters/port_xmit_packets", "2/counters/port_xmit_data")
    first = _ports(4.9, *(f"{name} {n}" for name, n in zip(names, (100, 10, 40), strict=True)))
    last = _ports(15.1, *(f"{name} {n}" for name, n in zip(names, (50, 30, 90), strict=True)))
    found = derive(_recording(_host("n1", first, last)))
    assert "fabric_sent" not in found
    assert found["fabric_packets"] == 20


def test_a_counter_of_32_bits_that_is_full_counts_nothing() -> None:
    full = f"1/counters/port_xmit_data {2**32 - 1}"
    for first, last in (("1/counters/port_xmit_data 7", full), (full, full)):
        assert "fabric_sent" not in derive(_recording(_host("n1", _ports(4.9, first), _ports(15.1, last))))
    lines = ("1/counters/port_xmit_data 4294967295", "1/counters_ext/port_xmit_data_64 {}")
    first_ext, last_ext = ([line.format(n) for line in lines] for n in (10**10, 10**10 + 25))
    found = derive(_recording(_host("n1", _ports(4.9, *first_ext), _ports(15.1, *last_ext))))
    assert found["fabric_sent"] == 100, "in words of four bytes"


def test_a_network_that_one_host_of_ranks_does_not_have_is_not_counted() -> None:
    def without(one: Sample) -> Sample:
        lines = {**one.lines, "interfaces": [line for line in one.lines["interfaces"] if "eth0" not in line]}
        return msgspec.structs.replace(one, lines=lines)

    found = derive(_recording(_host("n1", *RUN), _host("n2", *map(without, RUN))))
    assert "network_sent" not in found
    assert found["wire_sent"] == 30000


@pytest.mark.parametrize("junk", [[], [""], ["eth0: many"], ["cpu 1 2", "cpu0 x"], ["MemAvailable: kB"]])
def test_lines_that_make_no_sense_are_no_figures(junk: list[str]) -> None:
    odd = [Sample(at_s=at_s, wall_s=at_s + 95, lines=dict.fromkeys(sources(), junk)) for at_s in (4.9, 15.1)]
    assert not {"cpu_system", "total_sent", "memory_peak"} & derive(_recording(_host("n1", *odd))).keys()


@pytest.mark.parametrize("word", ["nan", "inf", "1e999", "9" * 400])
def test_a_damaged_gauge_gives_no_figure_that_is_not_finite(word: str) -> None:
    damaged = _sample(10.0, system=400, idle=1300)
    lines = {**damaged.lines, "cpu": [*damaged.lines["cpu"], f"procs_running {word}"]}
    found = derive(_recording(_host("n1", RUN[0], msgspec.structs.replace(damaged, lines=lines), RUN[2])))
    assert all(map(math.isfinite, found.values()))
    assert found["cpu_system"] == pytest.approx(100 * 400 / 1200)
