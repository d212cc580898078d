"""Build the exact command lines of a case from its workload, platform, network and storage path.

Pure: it starts nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import msgspec

from tare.core.case import Binding, Case, Layout
from tare.core.errors import UsageError
from tare.core.inputs import filled
from tare.core.launch import Engine, Invocation, Launcher, Placement, Runtime
from tare.core.memo import Latest
from tare.core.program import (
    EPILOGUE,
    PROLOGUE,
    Commands,
    commands_as_stages,
    own_commands,
    placeholder_values,
    with_program,
)
from tare.core.pseudonyms import Pseudonyms
from tare.core.site import Network, Platform, Site
from tare.core.software import Layers, layers_of
from tare.core.workload import Input, Stage, Workload
from tare.execution.profiling import LIBRARY_PLACE, is_outside, library_of, with_profile
from tare.execution.program_path import on_path
from tare.execution.queued_placement import by_hostfile, in_pods
from tare.execution.software import require_host, started_with
from tare.probes import software
from tare.probes.core_binding import bound, chosen, with_script
from tare.probes.placement import (
    can_run_probe,
    reports_folder,
    sampling_stride,
    with_files,
    with_placement_probe,
)


class Composer(msgspec.Struct, frozen=True):
    """Builds the commands of cases at one site.

    `launcher` and `runtime` look up a plug-in by its name. `pseudonyms` replace the names which the site
    hides, in the records of these commands. `prologue` and `epilogue` are commands around the programs of
    each run. `study_inputs` are copied into its folder first; relative paths begin at `study_folder`.
    `checksums` are those of inputs, by their paths, which they must still have when a run begins. The stages
    of the `latest` case are kept, since a run asks for them many times.
    """

    site: Site
    workloads: Mapping[str, Workload]
    launcher: Callable[[str], Launcher]
    runtime: Callable[[str], Runtime]
    pseudonyms: Pseudonyms = Pseudonyms()
    prologue: Commands = ()
    epilogue: Commands = ()
    study_inputs: tuple[Input, ...] = ()
    study_folder: Path = Path()
    checksums: Mapping[Path, str] = {}
    latest: Latest[tuple[Stage, ...]] = msgspec.field(default_factory=Latest)

    def __post_init__(self) -> None:
        """Forget the stages of the composer of which this one is an altered copy."""
        msgspec.structs.force_setattr(self, "latest", Latest())

    def hosts(self, case: Case) -> tuple[str, ...]:
        """Return the hosts on which the ranks of `case` start: the site's first nodes, or their pods.

        Their number is that of the case's widest stage: a ping-pong uses two nodes of any site. Empty if a
        batch system chooses the nodes.
        """
        if self.is_queued(case):
            return ()
        nodes = self.site.nodes[: self.widest(case).nodes]
        network = self.network(case)
        return tuple(network.host_of(node) for node in nodes) if network else nodes

    def reached_hosts(self, case: Case) -> list[str | None]:
        """Return the hosts of `case` as a backend knows them: if Tare runs on their only machine, [None]."""
        return list(self.hosts(case)) if self.site.agent else [None]

    def network(self, case: Case) -> Network | None:
        """Return the network of `case`, None if it has none."""
        return self.site.networks.get(case.network or "")

    def on(self, nodes: tuple[str, ...]) -> Composer:
        """Return a composer that uses only these nodes of the site."""
        return msgspec.structs.replace(self, site=msgspec.structs.replace(self.site, nodes=nodes))

    def widest(self, case: Case) -> Layout:
        """Return the layout of the stage of `case` that uses the most nodes, and of those the most cores."""
        stages = self.workloads[case.workload].stages(case)
        layouts = (stage.layout or case.layout for stage in stages)
        return max(layouts, key=lambda layout: (layout.nodes, layout.ranks_per_node * layout.threads))

    def head(self, case: Case) -> str | None:
        """Return the host that runs the launcher; None means this machine."""
        return self.hosts(case)[0] if self.site.agent and not self.is_queued(case) else None

    def is_queued(self, case: Case) -> bool:
        """Return whether a batch system chooses the nodes of `case` and the time when it runs."""
        return self.site.platforms[case.platform].is_queued

    def compose(
        self, case: Case, work: Path | None = None, owner: str | None = None
    ) -> tuple[tuple[Stage, Invocation], ...]:
        """Return each stage of `case` with its command.

        `work` is the working folder; without it, commands contain ``{work}``. `owner` is the name of the
        attempt; without it, the attempt's own folder on the storage path is ``tare-{run}``.
        """
        in_pods = self.site.platforms[case.platform].options.pods is not None  # pods replace {run} themselves
        places = {
            "{storage}": self.own_storage(case, None if in_pods else owner),
            "{storage_path}": self.storage_path(case),
            "{address0}": self._first_address(case),
        }
        return tuple(
            (self._with_files(case, stage), self._invocation(case, stage, work, places))
            for stage in self.stages(case)
        )

    def stages(self, case: Case) -> tuple[Stage, ...]:
        """Return the stages of `case`.

        In a parameter, ``{storage}`` means the storage path itself, because a parameter names an input. In a
        command, it means the attempt's own folder on the storage path.
        """
        return self.latest.get(case, partial(self._find_stages, case))

    def _find_stages(self, case: Case) -> tuple[Stage, ...]:
        requested = {
            name: value.replace("{storage}", "{storage_path}") if isinstance(value, str) else value
            for name, value in case.parameters.items()
        }
        workload = self.workloads[case.workload]
        asked = msgspec.structs.replace(case, parameters=requested)
        first, *others = with_program(workload.stages(asked), asked, workload)
        values = placeholder_values(case, workload.parameters)
        if self.study_inputs:
            copies = (*filled(self.study_inputs, values), *first.copies)
            first = msgspec.structs.replace(first, copies=copies)
        prologue, epilogue = self.around(case)
        return (
            *commands_as_stages(PROLOGUE, prologue, values),
            *with_profile((first, *others), case, self.site.platforms[case.platform]),
            *commands_as_stages(EPILOGUE, epilogue, values),
        )

    def around(self, case: Case) -> tuple[Commands, Commands]:
        """Return the commands before and after the programs of `case`: the study's around its own."""
        before, after = own_commands(self.workloads[case.workload])
        return (*self.prologue, *before), (*after, *self.epilogue)

    def copies(self, case: Case) -> tuple[Input, ...]:
        """Return what is copied into the working folder of a run of `case` before it begins."""
        return tuple(one for stage in self.stages(case) for one in stage.copies)

    def source(self, one: Input) -> Path:
        """Return the path of an input on this machine."""
        return self.study_folder / one.path

    def software(self, case: Case) -> Layers:
        """Return what is loaded before `case`: by the site, by the platform, and by the study."""
        platform = self.site.platforms[case.platform]
        return layers_of([self.site.software, platform.software, *case.software])

    def own_storage(self, case: Case, owner: str | None = None) -> str:
        """Return the folder of the attempt `owner` on the storage path of `case`; empty without a path."""
        path = self.storage_path(case)
        return f"{path.rstrip('/')}/tare-{owner or '{run}'}" if path else ""

    def needs_own_storage(self, case: Case) -> bool:
        """Return whether a program of `case` writes to the storage path."""
        return case.storage is not None and any(
            "{storage}" in word for stage in self.stages(case) for word in (*stage.argv, *stage.env.values())
        )

    def _with_files(self, case: Case, stage: Stage) -> Stage:
        if cpus := self._own_cpus(case, stage):
            stage = with_script(stage, self.hosts(case), cpus)
        stage = software.with_script(stage, self.software(case))
        if not self.runs_placement_probe(case, stage):
            return stage
        return with_files(stage, reports_transport=self.reports_transport(case, stage))

    def _own_cpus(self, case: Case, stage: Stage) -> tuple[tuple[int, ...], ...]:
        """Return the CPUs to which ranks of `stage` are bound on each node; empty if Tare does not bind."""
        if not stage.is_mpi:
            return ()
        return chosen(stage.layout or case.layout, self.site.platforms[case.platform], self.site)

    def runs_placement_probe(self, case: Case, stage: Stage) -> bool:
        """Return whether the ranks of `stage` run the placement probe when they start."""
        return self.site.reports_placement and can_run_probe(stage, self.site.platforms[case.platform])

    def reports_transport(self, case: Case, stage: Stage) -> bool:
        """Return whether the libraries of `stage` are asked to report their transport between nodes."""
        layout = stage.layout or case.layout
        return (
            self.site.reports_transport
            and self.runs_placement_probe(case, stage)
            and self.workloads[case.workload].needs_transport
            and case.network is not None
            and layout.nodes > 1
        )

    def own_variables(self, case: Case) -> dict[str, str]:
        """Return the variables that the site sets for ranks of `case`: its network's, then its platform's."""
        platform = self.site.platforms[case.platform]
        network = self.network(case)
        return (network.options.get(platform.launcher, {}) if network else {}) | platform.env

    def _invocation(
        self, case: Case, stage: Stage, work: Path | None, replacements: Mapping[str, str]
    ) -> Invocation:
        self._require_storage(case, stage)
        platform = self._platform(case, stage)
        layers = self.software(case)
        require_host(layers, platform)
        layout = stage.layout or case.layout
        folder = self._folder(platform, work)
        program = self._program(case, stage, layout, {"{work}": folder, **replacements})
        runtime = self.runtime("native" if is_outside(stage) else platform.runtime)
        has_engine = platform.has_node_containers and not is_outside(stage)
        engine = self.engine(case.platform) if has_engine else None
        if self.runs_placement_probe(case, stage):
            every = sampling_stride(layout.ranks) if self.reports_transport(case, stage) else 1
            own = self.own_variables(case) | stage.env
            program = with_placement_probe(program, stage, folder, every=every, own=own)
        if self._own_cpus(case, stage):
            program = bound(program, stage, layout, folder)
            layout = msgspec.structs.replace(layout, bind=Binding.NONE)  # so the launcher must not bind too
        if engine is None:
            program = runtime.wrap(program, platform, folder)
        launch = None
        if stage.is_mpi and not (stage.is_pair and platform.options.pods):  # a pair of pods needs no MPI
            is_asked = self.reports_transport(case, stage)
            reports = f"{folder}/{reports_folder(stage.name)}" if is_asked else None
            launch = partial(
                self._launch, case=case, layout=layout, engine=engine, reports=reports, folder=folder
            )
        program = started_with(layers, program, stage, folder, launch)
        if engine is None:
            return program
        prefix = self.container_prefix(case.platform)
        mine = engine.agent_environment(platform, prefix, folder, self.site.agent)
        program = msgspec.structs.replace(program, env=program.env | mine)
        return engine.enter(program, platform, f"{prefix}{self.hosts(case)[0]}", folder)

    def _program(
        self, case: Case, stage: Stage, layout: Layout, replacements: Mapping[str, str]
    ) -> Invocation:
        """Return the program of a stage, as its workload gives it, with its variables."""
        platform = self.site.platforms[case.platform]
        places = dict(replacements)
        asked = (*stage.argv, *stage.env.values())
        if any("{hosts}" in text for text in asked):
            places["{hosts}"] = self._listed_hosts(case)
        env = {**platform.env, **stage.env}
        if layout.threads > 1:
            env.setdefault("OMP_NUM_THREADS", str(layout.threads))
        if stage.is_mpi:  # the launcher would add them too, but a container must know their names
            env = self.own_variables(case) | env
        if any(LIBRARY_PLACE in text for text in asked):
            others = (self.own_variables(case) | platform.env).get("LD_PRELOAD", "")
            places[LIBRARY_PLACE] = library_of(places["{work}"], others)
        argv = [_fill(word, places) for word in stage.argv]
        if platform.options.pods is None:  # programs in pods belong to the image: only a pod can find them
            argv = on_path(argv, platform.path)
        return Invocation(argv=tuple(argv), env={name: _fill(value, places) for name, value in env.items()})

    def _platform(self, case: Case, stage: Stage) -> Platform:
        """Return the platform of `case`, with the storage path bound into containers if `stage` uses it."""
        platform = self.site.platforms[case.platform]
        if platform.container is None or not _uses_storage(stage):
            return platform
        binds = (*platform.container.binds, self.storage_path(case))
        return msgspec.structs.replace(
            platform, container=msgspec.structs.replace(platform.container, binds=binds)
        )

    def _launch(
        self,
        program: Invocation,
        case: Case,
        layout: Layout,
        engine: Engine | None,
        reports: str | None,
        folder: str,
    ) -> Invocation:
        platform = self.site.platforms[case.platform]
        agent = (str(engine.agent),) if engine else self.site.agent
        placement = Placement(
            hosts=self.hosts(case)[: layout.nodes],
            layout=layout,
            platform=platform,
            network=self.network(case),
            network_name=case.network,
            agent=() if self.is_queued(case) else agent,
            management=self.site.management,
            slots_per_node=self.site.slots(layout.nodes),
            is_allocated=self.is_queued(case),
            reports_folder=reports,
        )
        if platform.options.pods is not None:
            n_nodes = self.widest(case).nodes
            placement = in_pods(placement, platform.options.pods, n_nodes, self.site.management)
        elif platform.is_queued and not platform.options.allocator:
            placement = by_hostfile(placement, platform.options.agent or self.site.agent, folder)
        return self.launcher(platform.launcher).launch(program, placement)

    @staticmethod
    def _folder(platform: Platform, work: Path | None) -> str:
        """Return the path of the working folder as programs see it."""
        if platform.options.pods is not None:
            return platform.options.pods.work
        return str(work) if work else "{work}"

    def engine(self, platform: str) -> Engine:
        """Return the engine that keeps one container on each node for this platform.

        Raises UsageError if its runtime has no such containers, or if a batch system chooses the nodes.
        """
        name = self.site.platforms[platform].runtime
        runtime = self.runtime(name)
        if not isinstance(runtime, Engine):
            raise UsageError(
                f"{name} has no containers that stay; use 'shape: rank', or the runtime podman or docker"
            )
        if self.site.platforms[platform].is_queued:
            raise UsageError(
                f"platform {platform}: a batch system chooses the nodes too late for containers that stay; "
                "use 'shape: rank'"
            )
        return runtime

    def container_prefix(self, platform: str) -> str:
        """Return the prefix of the names of a platform's containers; the host's name follows."""
        return f"tare-{self.site.name}-{platform}-".replace("+", "_")

    def _first_address(self, case: Case) -> str:
        if self.site.platforms[case.platform].options.pods is not None:
            return "{address0}"  # the address of a pod is known only when it starts
        node = self.site.nodes[0]
        if self.is_queued(case):
            node = "{node0}"  # the job replaces it when it starts, see job.sh
        return self.site.networks[case.network].address_of(node) if case.network else node

    def _listed_hosts(self, case: Case) -> str:
        """Return the hosts of `case`, separated by commas.

        Raises UsageError if a batch system chooses them.
        """
        if self.is_queued(case):
            raise UsageError(
                f"{case.workload}: {{hosts}} is not known before a batch system has chosen them; let the "
                "command ask it, as with scontrol show hostnames, and name {nodes} instead"
            )
        return ",".join(self.hosts(case))

    def storage_path(self, case: Case) -> str:
        """Return the storage path of `case`; empty when it has none."""
        return self.site.storage[case.storage] if case.storage is not None else ""

    def inputs(self, case: Case, stage: Stage) -> tuple[str, ...]:
        """Return the paths outside the working folder on which the result of `stage` depends."""
        self._require_storage(case, stage)
        path = self.storage_path(case)
        return tuple(_fill(one, {"{storage}": path, "{storage_path}": path}) for one in stage.inputs)

    def _require_storage(self, case: Case, stage: Stage) -> None:
        if case.storage is None and _uses_storage(stage):
            raise UsageError(
                f"{case.workload} needs a storage path, but site {self.site.name} names none; "
                "add 'storage: {scratch: /path}' to the site file"
            )


def _uses_storage(stage: Stage) -> bool:
    words = (*stage.argv, *stage.env.values(), *stage.inputs)
    return any("{storage}" in word or "{storage_path}" in word for word in words)


def _fill(text: str, places: Mapping[str, str]) -> str:
    for place, value in places.items():
        text = text.replace(place, value)
    return text
