# make demo    build a cluster on this machine, measure it, and write the report
# make test    everything that CI checks, but what takes long
# make test-slow   the tests that take long: rates of false claims, what 'tare init' writes is run, controllers are killed,
#                 corners of studies run
# make studies run the published comparisons, scaled to this machine (docs/studies.md)
# make articles   run what tries the claims of the published articles on this machine, and write their pages; two hours (ARGS=--no-run: only judge and draw)
# make setup   prepare .venv alone;  make bench   print the performance tables
# make observer   measure what watching the nodes costs; on a machine that does nothing else
# make why        find causes that are known, and hold predicted against measured costs of networks, and programs' tolerance of
#                 latency and rates; on a machine that does nothing else, half an hour
# make calibration   count what is claimed of 20 real A/A campaigns on this machine; minutes
# make truth   count what is falsely claimed of 2,000 simulated campaigns, by kind of sentence; a quarter of an hour
# make fuzz MINUTES=30   try all that reads others' files on input that nobody meant; so long for each of some 80 targets
# make soak MINUTES=60   run campaigns under random kills, full disks, dead nodes and damage, and check their books; SEED=n
# make screenshots   leave pictures of the report and the live page, light, dark, narrow and printed, in artefacts/
# make kubelab   build a Kubernetes for the tests, with Go 1.26 or newer; ten minutes, once
# make test-api-server   run the tests against a real API server with simulated nodes, after 'make kubelab'; six minutes
# make test-kubernetes   run the tests with a thousand jobs, and with real pods: as root, after 'make programs kubelab'; minutes
# make test-kubernetes-all   the same, with large results, lost nodes and OpenShift's users with four MPIs; twice as long
# make docs    build the documentation site, in artefacts/site: no network is needed to read it
# make dist    build the wheel and the sdist of the last commit, in dist/: twice, and the same both times
# make lock    write requirements/*.txt anew, with hashes, where pyproject.toml asks for more; UPGRADE=1 takes newer versions
# make audit   look for known vulnerabilities of what is locked;  make sbom   list it, as CycloneDX, in artefacts/
# make rootfs   build, as root, the Debian in which containers of studies run; 'make test' does it, too
# make programs   install, as root, the programs of Debian that studies/ can run
PYTHON ?= python3
# Modules are compiled once, also where the caller's environment says otherwise: a start of tare takes a third less.
export PYTHONDONTWRITEBYTECODE :=
VENV := .venv
TARE := $(VENV)/bin/tare
STAMP := $(VENV)/.ready
MPI := $(VENV)/.mpi-ready
TOOLS := $(VENV)/tools
DOCS := $(VENV)/docs
# What is installed is what is locked: these files, at these versions.
LOCKED := --quiet --disable-pip-version-check --require-hashes --only-binary :all:
COMPILE = $(TOOLS)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --only-binary :all: \
  --no-emit-index-url --no-header $(if $(UPGRADE),--upgrade)
MPI_LOCKS := src/tare/lab/locks
LOCKS := requirements/build.txt requirements/dev.txt requirements/docs.txt requirements/tools.txt $(wildcard $(MPI_LOCKS)/*.txt)
DEMO := campaigns/demo
# What runs without a cluster, each with the programs that it needs.
STUDIES := network-tools:iperf3+iperf+qperf storage:fio hpcc-fabrics:hpcc gromacs-networks:gmx_mpi \
  lammps-networks:lmp openfoam-fabrics:simpleFoam slurm:srun+squeue mpi-versions:mpicc.openmpi

# Tests wait for programs that they start: three of them keep two cores busy.
export PYTEST_XDIST_AUTO_NUM_WORKERS ?= $(shell expr $$(nproc) \* 3 / 2)
PYTEST := $(VENV)/bin/python -m pytest
# Real clusters start and end on a busy machine: what fails runs once more. What was broken fails again; what
# passes then stands above as failed, and is to be looked at: it has been a race of the product before.
tests = $(PYTEST) $(1) || { [ $$? = 1 ] && echo "--- what failed runs once more:" && \
  $(PYTEST) $(1) --last-failed --last-failed-no-failures none; }

# Tests with clusters mostly wait for them: three run at a time. What measures needs the machine for itself.
clusters = { $(call tests,-m 'cluster and not alone and not slow' $(REST) $(1) --numprocesses 3 --dist loadfile); } && \
  { $(call tests,-m 'alone and not slow' $(MEASURING) $(1)); }
MEASURING = $$(grep -rlw mark.alone tests)

# These mostly wait for pods of a cluster of their own: two clusters stand beside each other, and nothing else does.
CLUSTER := tests/kubernetes_cluster

# Shares of differences are measured, so nothing else may run: make why.
KNOWN := tests/why

REST := --ignore $(CLUSTER) --ignore $(KNOWN) --ignore tests/kubernetes_pods

# Programs of Debian that studies and tests really run, where they are there.
DEBIAN := charliecloud chromium containerd containernetworking-plugins docker.io fio gfortran gridengine-client \
  gridengine-exec gridengine-master gromacs hpcc iperf iperf3 iproute2 lammps libopenmpi-dev lmod \
  mariadb-server-core mmdebstrap munge numactl openfoam openfoam-examples openmpi-bin openssh-server \
  openssh-sftp-server openssl podman prometheus qperf runc slurm-client slurmctld slurmd slurmdbd sockperf sshfs \
  strace sysstat tcsh texlive-latex-recommended texlive-science time

.PHONY: setup demo studies articles test test-slow lint bench calibration truth fuzz soak observer why screenshots docs dist lock audit sbom programs kubelab rootfs \
  test-api-server test-kubernetes test-kubernetes-all clean
.DELETE_ON_ERROR:

setup: $(STAMP) $(MPI)

$(STAMP): pyproject.toml requirements/build.txt requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "tare needs Python 3.11 or newer; name one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 3; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "Python's venv module is missing; on Debian: apt install python3-venv"; exit 3; }
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install $(LOCKED) --requirement requirements/build.txt
	$(VENV)/bin/python -m pip install $(LOCKED) --requirement requirements/dev.txt
	$(VENV)/bin/python -m pip install --quiet --no-deps --no-index --no-build-isolation --editable .
	@touch $@

$(TOOLS)/.ready: requirements/tools.txt
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip install $(LOCKED) --requirement requirements/tools.txt
	@touch $@

$(DOCS)/.ready: requirements/docs.txt
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install $(LOCKED) --requirement requirements/docs.txt
	@touch $@

$(MPI): $(STAMP) $(wildcard $(MPI_LOCKS)/*.txt)
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

articles: setup rootfs
	$(VENV)/bin/python -m bench.articles $(ARGS)

rootfs: $(STAMP)
	@if [ "$$(id -u)" = 0 ] && type mmdebstrap podman >/dev/null 2>&1; then \
	  $(TARE) lab rootfs || echo "without a root file system, studies in containers are not tested"; fi

test: setup lint rootfs
	$(TARE) lab setup --mpi mpich,openmpi
	$(call tests,-m 'not alone and not cluster and not slow' --ignore $(KNOWN) --numprocesses auto --dist loadfile)
	@if $(TARE) doctor; then echo "this machine can build a lab: no test of it may be skipped"; \
	  $(call clusters,--require-lab); else $(call clusters); fi

test-slow: setup rootfs
	$(TARE) lab setup --mpi mpich,openmpi
	$(call tests,-m 'slow and not alone and not cluster' $(REST) --numprocesses auto --dist loadfile)
	$(call tests,-m 'slow and (alone or cluster)' $(REST) $$($(TARE) doctor >/dev/null && echo --require-lab))

lint: $(STAMP)
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

bench: setup
	$(VENV)/bin/python -m bench

calibration: setup
	$(VENV)/bin/python -m bench.calibration

truth: $(STAMP)
	PYTHONPATH=tests $(VENV)/bin/python -m truth 2000

MINUTES ?= 30
fuzz: setup
	PYTHONPATH=tests $(VENV)/bin/python -m fuzzing --minutes $(MINUTES)

soak: MINUTES = 60
soak: setup
	PYTHONPATH=tests $(VENV)/bin/python -m soak --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

observer: setup
	$(VENV)/bin/python -m bench observer

why: setup
	$(PYTEST) $(KNOWN)
	$(VENV)/bin/python -m bench why tolerance

screenshots: setup
	$(VENV)/bin/python -m pytest -q tests/report/test_accessibility.py tests/live/test_live_browser.py

docs: $(DOCS)/.ready
	$(DOCS)/bin/python docs/build_site.py artefacts/site

dist: $(STAMP)
	$(VENV)/bin/python -m requirements.dist

lock: $(TOOLS)/.ready
	$(COMPILE) --extra dev pyproject.toml --output-file requirements/dev.txt
	$(COMPILE) --constraint requirements/dev.txt requirements/build.in --output-file requirements/build.txt
	$(COMPILE) requirements/docs.in --output-file requirements/docs.txt
	$(COMPILE) requirements/tools.in --output-file requirements/tools.txt
	@for pair in intelmpi:impi-rt mpich:mpich openmpi:openmpi; do lock=$(MPI_LOCKS)/$${pair%%:*}.txt; \
	  echo $${pair##*:} | $(COMPILE) --no-annotate - --output-file $$lock || exit; done

audit: $(TOOLS)/.ready
	$(TOOLS)/bin/python -m requirements.audit $(LOCKS)

sbom: $(TOOLS)/.ready
	$(TOOLS)/bin/python -m requirements.sbom $(LOCKS)

programs:
	apt-get update -q
	echo 'gridengine-common shared/gridengineconfig boolean false' | debconf-set-selections # no cluster of this machine itself
	DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $(DEBIAN)

kubelab: $(STAMP)
	$(VENV)/bin/python -m kubelab build

test-api-server: setup
	$(call tests,$(CLUSTER) --numprocesses 2 --dist loadfile)

PODS := --real-pods tests/kubernetes_cluster/test_thousand_jobs.py tests/kubernetes_pods
LONG := $(addprefix tests/kubernetes_pods/,test_results_of_pods.py test_users_of_openshift.py test_lost_nodes_of_pods.py)

test-kubernetes: setup
	$(call tests,$(PODS) $(LONG:%=--ignore %))

test-kubernetes-all: setup
	$(call tests,$(PODS))

clean:
	rm -rf $(VENV) campaigns .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
