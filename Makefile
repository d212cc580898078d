# make demo    build a cluster on this machine, measure it, and write the report
# make test    everything that CI checks
# make studies run the published comparisons, scaled to this machine (docs/studies.md)
# make setup   prepare .venv alone;  make bench   print the performance tables
# make observer   measure what watching the nodes costs; on a machine that does nothing else
# make screenshots   leave pictures of the report and the live page, light, dark, narrow and printed, in artefacts/
# make kubelab   build a Kubernetes for the tests, with Go 1.26 or newer; ten minutes, once
# make test-kubernetes   run the tests with a thousand jobs, and with real pods: as root, after 'make programs kubelab'; minutes
# make programs   install, as root, the programs of Debian that studies/ can run
PYTHON ?= python3
VENV := .venv
TARE := $(VENV)/bin/tare
STAMP := $(VENV)/.ready
MPI := $(VENV)/.mpi-ready
DEMO := campaigns/demo
# What runs without a cluster, each with the programs that it needs.
STUDIES := network-tools:iperf3+iperf+qperf storage:fio hpcc-fabrics:hpcc gromacs-networks:gmx_mpi \
  lammps-networks:lmp openfoam-fabrics:simpleFoam slurm:srun+squeue mpi-versions:mpicc.openmpi

# Programs of Debian that studies and tests really run, where they are there.
DEBIAN := charliecloud chromium containerd containernetworking-plugins docker.io fio gromacs hpcc iperf iperf3 iproute2 \
  lammps libopenmpi-dev mariadb-server-core mmdebstrap munge openfoam openfoam-examples openmpi-bin openssh-server \
  openssl podman prometheus qperf runc slurm-client slurmctld slurmd slurmdbd sockperf sysstat texlive-latex-recommended \
  texlive-science

.PHONY: setup demo studies test lint bench observer screenshots programs kubelab test-kubernetes clean
.DELETE_ON_ERROR:

setup: $(STAMP) $(MPI)

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "tare needs Python 3.11 or newer; name one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 3; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "Python's venv module is missing; on Debian: apt install python3-venv"; exit 3; }
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --upgrade pip
	$(VENV)/bin/python -m pip install --quiet --editable '.[dev]'
	@touch $@

$(MPI): $(STAMP)
	$(TARE) lab setup
	@touch $@

demo: setup
	$(TARE) doctor
	$(TARE) run studies/demo.yaml --out $(DEMO)
	$(TARE) compare $(DEMO)
	$(TARE) report $(DEMO)

studies: setup
	@status=0; for pair in $(STUDIES); do name=$${pair%%:*}; programs=$$(echo $${pair##*:} | tr + ' '); \
	  type $$programs >/dev/null 2>&1 || \
	    { echo "$$name is left out, since it needs $$programs; see docs/studies.md"; continue; }; \
	  $(TARE) run studies/$$name.yaml --out campaigns/$$name || status=$$?; \
	  $(TARE) report campaigns/$$name || status=$$?; \
	done; exit $$status

test: setup lint
	$(TARE) lab setup --mpi mpich,openmpi
	@if [ "$$(id -u)" = 0 ] && type mmdebstrap podman >/dev/null 2>&1; then \
	  $(TARE) lab rootfs || echo "without a root file system, studies in containers are not tested"; fi
	$(VENV)/bin/python -m pytest -m 'not alone' --numprocesses auto --dist loadfile
	@if $(TARE) doctor; then echo "this machine can build a lab: no test of it may be skipped"; \
	  $(VENV)/bin/python -m pytest -m alone --require-lab; else $(VENV)/bin/python -m pytest -m alone; fi

lint: $(STAMP)
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

bench: setup
	$(VENV)/bin/python -m bench

observer: setup
	$(VENV)/bin/python -m bench observer

screenshots: setup
	$(VENV)/bin/python -m pytest -q tests/report/test_accessibility.py tests/serve/test_live_browser.py

programs:
	apt-get update -q
	DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $(DEBIAN)

kubelab: $(STAMP)
	$(VENV)/bin/python -m kubelab build

test-kubernetes: setup
	$(VENV)/bin/python -m pytest --real-pods tests/kubernetes_cluster/test_thousand_jobs.py tests/kubernetes_pods

clean:
	rm -rf $(VENV) campaigns .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
