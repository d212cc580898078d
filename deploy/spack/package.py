"""The recipe for Spack: docs/install.md says how to use it."""

from contextlib import suppress
from pathlib import Path

from spack.package import *

with suppress(ImportError):  # before Spack 1.0, it comes with spack.package
    from spack_repo.builtin.build_systems.python import PythonPackage


class PyTareHpc(PythonPackage):
    """Measure what a platform costs an HPC workload, against a reference, with intervals."""

    # The sdist that `make dist` makes is put into the folder from which spack is called.
    url = f"file://{Path.cwd()}/tare_hpc-0.1.0.tar.gz"
    manual_download = True

    license("Apache-2.0")

    version("0.1.0")  # sha256="…" of dist/SHA256SUMS, in a repository of packages of one's own

    variant("kubernetes", default=False, description="Run pods on a Kubernetes")
    variant("psij", default=False, description="Run on PBS, LSF, Flux and others through PSI/J")
    variant("charts", default=False, description="Give charts to Python as Altair charts")
    variant("dataframes", default=False, description="Give results to Python as pandas and Arrow tables")

    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-hatchling@1.25:", type="build")

    depends_on("py-click@8.1:", type=("build", "run"))
    depends_on("py-jinja2@3.1:", type=("build", "run"))
    depends_on("py-msgspec@0.19:", type=("build", "run"))
    depends_on("py-numpy@1.26:", type=("build", "run"))
    depends_on("py-polars@1.20:", type=("build", "run"))
    depends_on("py-pyroute2@0.8:", type=("build", "run"))
    depends_on("py-pyyaml@6.0.1:", type=("build", "run"))
    depends_on("py-rich@13.7:", type=("build", "run"))
    depends_on("py-scipy@1.12:", type=("build", "run"))
    depends_on("py-starlette@0.45:", type=("build", "run"))
    depends_on("py-uvicorn@0.34:", type=("build", "run"))
    depends_on("py-vl-convert-python@1.9:", type=("build", "run"))

    depends_on("py-lightkube@1.0:", type=("build", "run"), when="+kubernetes")
    depends_on("py-psij-python@0.9.11:", type=("build", "run"), when="+psij")
    depends_on("py-altair@6.0:", type=("build", "run"), when="+charts")
    depends_on("py-pandas@2.2:", type=("build", "run"), when="+dataframes")
    depends_on("py-pyarrow@17.0:", type=("build", "run"), when="+dataframes")
