from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.plugins.collectors.sysstat import UnreadableSysstat, read_sysstat

CORPUS = Path(__file__).parents[3] / "shared/corpus/sysstat"
SAR = """\
Linux 6.1.0 (n1) \t11/21/26 \t_x86_64_\t(2 CPU)

23:59:58        CPU     %user     %nice   %system   %iowait    %steal     %idle
23:59:59        all     50.00      1.00     40.00      0.00      0.00      9.00
00:00:00        all     20.00      0.00     10.00      0.00      0.00     70.00
Average:        all     35.00      0.50     25.00      0.00      0.00     39.50

23:59:58        IFACE   rxpck/s   txpck/s    rxkB/s    txkB/s   rxcmp/s   txcmp/s  rxmcst/s   %ifutil
23:59:59           lo      9.00      9.00      9.00      9.00      0.00      0.00      0.00      0.00
23:59:59         fab0      1.00    100.00      1.00     64.00      0.00      0.00      0.00      0.00
23:59:59         mgmt      1.00     10.00      1.00      1.00      0.00      0.00      0.00      0.00
00:00:00         fab0      1.00      0.00      1.00      0.00      0.00      0.00      0.00      0.00
"""
MIDNIGHT = 1795305600.0  # 2026-11-22T00:00:00Z


@pytest.fixture
def corpus() -> Path:
    if not CORPUS.is_dir():
        pytest.skip("the corpus of captured outputs is not here")
    return CORPUS


def test_a_table_of_sar_goes_on_after_midnight() -> None:
    first, second = read_sysstat(SAR)
    assert (first.host, first.at, second.at) == ("n1", MIDNIGHT - 1, MIDNIGHT)
    assert first.values["cpu_user"] == 51.0
    assert second.values["cpu_system"] == 10.0


def test_an_interface_is_counted_alone_or_all_but_loopback_together() -> None:
    assert read_sysstat(SAR)[0].values["network_packet_rate"] == 110.0
    only = read_sysstat(SAR, "fab0")[0].values
    assert (only["network_packet_rate"], only["network_rate"]) == (100.0, 64 * 1024.0)


def test_local_times_are_brought_to_utc() -> None:
    assert read_sysstat(SAR, utc_offset_s=3600)[0].at == MIDNIGHT - 1 - 3600


def test_sadf_and_sar_agree_on_the_same_data(corpus: Path) -> None:
    json = read_sysstat((corpus / "01-sadf-j.json").read_text())
    human = read_sysstat((corpus / "12-sar-human.txt").read_text())
    assert [one.at for one in json] == [one.at for one in human]
    for name in ("cpu_user", "memory", "run_queue", "disk_read", "context_switches"):
        assert human[0].values[name] == pytest.approx(json[0].values[name], rel=0.02), name


@pytest.mark.parametrize(
    ("name", "n_readings", "at"),
    [
        ("07-sar-cpu8off-restart.txt", 3, 1591016002.0),
        ("08-sar-1.txt", 1, 1556755200.0),
        ("09-sar-pbench-2.txt", 1, 1427874609.0),
        ("10-sar-pbench-4.txt", 20, 1455698999.0),
    ],
)
def test_what_sites_have_recorded_is_read(corpus: Path, name: str, n_readings: int, at: float) -> None:
    found = read_sysstat((corpus / name).read_text())
    assert (len(found), found[0].at) == (n_readings, at)
    assert 99 <= sum(found[0].values[f"cpu_{kind}"] for kind in ("user", "system", "iowait", "idle")) <= 101


@pytest.mark.parametrize(
    "text", ["", "{}", '{"sysstat": 3}', "hello\n", SAR[:60], '{"sysstat": {"hosts": []}}']
)
def test_what_is_neither_is_reported(text: str) -> None:
    with pytest.raises(UnreadableSysstat):
        read_sysstat(text)


@given(st.integers(0, len(SAR)), st.text(max_size=5))
def test_damaged_text_never_breaks_it(position: int, junk: str) -> None:
    try:
        found = read_sysstat(SAR[:position] + junk + SAR[position:])
    except UnreadableSysstat:
        return
    assert all(one.values for one in found)


def _sar(date: str, *lines: str) -> str:
    return "\n".join([f"Linux 6.1.0 (n1) \t{date} \t_x86_64_\t(2 CPU)", "", *lines, ""])


NOON = 1795262400.0  # 2026-11-21T12:00:00Z
CPU = "CPU     %user     %nice   %system   %iowait    %steal     %idle"


@pytest.mark.parametrize(
    "date", ["2026-11-21", "21.11.2026", "11/21/26", "11/21/2026", "21/11/26", "2026年11月21日"]
)
@pytest.mark.parametrize(
    "times", [("12:00:00", "12:00:01"), ("12:00:00 PM", "12:00:01 PM"), ("12:00:00 p.m.",) * 2]
)
def test_dates_and_clocks_of_locales_are_understood(date: str, times: tuple[str, str]) -> None:
    text = _sar(date, f"{times[0]}   {CPU}", f"{times[1]}  all  50,00  1,00  40,00  0,00  0,00  9,00")
    (found,) = read_sysstat(text)
    assert NOON <= found.at <= NOON + 1
    assert found.values["cpu_user"] == 51.0


@pytest.mark.parametrize("date", ["13/32/26", "31.31.2026", "Saturday"])
def test_a_date_that_is_none_is_refused_with_the_cure(date: str) -> None:
    with pytest.raises(UnreadableSysstat, match="S_TIME_FORMAT=ISO"):
        read_sysstat(_sar(date, f"12:00:00   {CPU}"))


def test_midnight_is_twelve_on_a_clock_of_twelve_hours() -> None:
    row = "all  1.00  0.00  0.00  0.00  0.00  99.00"
    text = _sar("11/21/2026", f"11:59:59 PM  {CPU}", f"12:00:00 AM  {row}", f"12:00:01 AM  {row}")
    assert [(one.at, one.interval_s) for one in read_sysstat(text)] == [(MIDNIGHT, 1), (MIDNIGHT + 1, 1)]


def test_what_is_printed_twice_of_one_time_counts_once() -> None:
    """By sar -u and sar -u ALL in one file, or by sadc that was started twice within a second."""
    busy = "12:00:01  all  40.00  0.00  10.00  0.00  0.00  50.00"
    memory = "12:00:01  {0}  200  100  50.00  1  1  1  1.00  1  1  1"
    text = _sar(
        "2026-11-21",
        f"12:00:00  {CPU}",
        busy,
        busy,
        "12:00:00  CPU  %usr  %nice  %sys  %iowait  %steal  %irq  %soft  %guest  %gnice  %idle",
        "12:00:01  all  40.00  0.00  9.00  0.00  0.00  0.50  0.50  0.00  0.00  50.00",
        "12:00:00  kbmemfree  kbavail  kbmemused  %memused  a  b  c  d  e  f  g",
        memory.format(100),
        memory.format(101),
    )
    (found,) = read_sysstat(text)
    assert (found.values["cpu_user"], found.values["cpu_system"]) == (40.0, 10.0)
    assert found.values["memory"] == 100 * 1024


def test_after_a_restart_an_interval_begins_with_it_and_comments_are_no_rows() -> None:
    row = "  all  1.00  0.00  0.00  0.00  0.00  99.00"
    text = _sar(
        "2026-11-21",
        f"12:00:00  {CPU}",
        f"12:00:10{row}",
        "12:00:20  COM  it was 5 times 7",
        "",
        "14:00:00  LINUX RESTART  (2 CPU)",
        "",
        f"14:10:00  {CPU}",
        f"14:10:10{row}",
    )
    assert [(one.at - NOON, one.interval_s) for one in read_sysstat(text)] == [(10, 10), (7810, 10)]


def test_requests_that_nfs_sent_again_are_not_segments_of_tcp() -> None:
    text = _sar(
        "2026-11-21",
        "12:00:00  call/s retrans/s    read/s   write/s  access/s  getatt/s",
        "12:00:01  100.00     50.00      1.00      1.00      1.00      1.00",
        "12:00:00  atmptf/s  estres/s retrans/s isegerr/s   orsts/s",
        "12:00:01      0.00      0.00      2.00      0.00      0.00",
    )
    assert read_sysstat(text)[0].values == {"tcp_retransmits": 2.0}
