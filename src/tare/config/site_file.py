"""Load a site file, or one of the built-in sites, as a `Site`."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Collection, Mapping
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import msgspec

from tare.config.decode import decode
from tare.config.document import ListNode, MapNode, Node, ScalarNode, child, decode_text, find, read_document
from tare.config.expansion import expand_environment, expand_nodes, without_links
from tare.config.faults import START, Faults, shown
from tare.config.faults import Path as KeyPath
from tare.config.lab_faults import check_lab
from tare.config.pod_network_file import pod_network_faults
from tare.config.site_types import SiteFile, site_file_type
from tare.config.software import read_software
from tare.config.watching import watching
from tare.core.backend_options import BackendOptions
from tare.core.bounds import Peaks
from tare.core.containers import ContainerOptions
from tare.core.entry_points import installed
from tare.core.errors import Fault, UsageError
from tare.core.launch import takes_container
from tare.core.pseudonyms import MOST_ENTRIES, fault_of
from tare.core.site import LabSpec, Platform, PlatformFile, Site
from tare.core.telemetry_options import TelemetryOptions
from tare.core.units import format_bytes
from tare.core.user_files import read_given
from tare.plugins.backend_registry import backend, backends, option_types

BUILT_IN = ("local", "lab")
_LAB_MANAGEMENT = ("mgmt0",)
_THIS_MACHINE = ("localhost",)
_LEAST_MEMORY = 1 << 20
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]*")


class SiteSource(NamedTuple):
    """A site, with the text and the name of the file that it was read from.

    `has_lines` is False if the text is that of a mapping of Python, whose lines nobody wrote.
    """

    site: Site
    text: str
    file_name: str
    has_lines: bool = True

    def fault(self, path: KeyPath, message: str) -> Fault:
        """Return the fault `message` for the value at `path`, or for the last part of `path` that exists."""
        faults = Faults(self.file_name, has_lines=self.has_lines)
        root = read_document(self.text, Faults(self.file_name))
        faults.add(find(root, path) if root is not None else START, path, message)
        return next(iter(faults.found.values()))


def load_site(
    name_or_path: str, near: Path | None = None, environment: Mapping[str, str] | None = None
) -> Site:
    """Return a built-in site, ``local`` or ``lab``, or that of a file; a relative path starts at `near`.

    `environment` replaces ``${NAME}``; by default it is that of this process. Raises FileFaults with every
    fault, UsageError when there is no such site.
    """
    return read_site(name_or_path, near, environment).site


def read_site(
    name_or_path: str, near: Path | None = None, environment: Mapping[str, str] | None = None
) -> SiteSource:
    """Return what `load_site` returns, with the file's text, which a campaign stores."""
    raw, file_name = _read(name_or_path, near)
    site = site_from_text(raw, file_name, environment)
    return SiteSource(site, raw.decode("utf-8-sig"), file_name)


def site_from_text(
    text: str | bytes,
    file_name: str,
    environment: Mapping[str, str] | None = None,
    *,
    has_lines: bool = True,
) -> Site:
    """Return the site in `text`, such as the copy that a campaign stores.

    Raises FileFaults with every fault; `has_lines` says whether they have positions (see SiteSource).
    """
    faults = Faults(file_name, has_lines=has_lines)
    root = _root(text, faults)
    site = None
    if child(root, "study") is not None and child(root, "platforms") is None:
        faults.add(START, (), "this is a study file; name a site file, or local or lab")
    elif root is not None and (file := decode(root, site_file_type(), faults)) is not None:
        site = _SiteReader(faults, root, os.environ if environment is None else environment).read(file)
    faults.raise_any()
    if site is None:
        raise UsageError(f"site {file_name} cannot be read")  # unreachable: anything missing is a fault
    return site


def load_lab_spec(path: Path | str) -> LabSpec:
    """Return the cluster that a file describes: a lab file, or the `lab` of a site (``lab`` is built in)."""
    text, file_name = _read(str(path), None)
    faults = Faults(file_name)
    root = _root(text, faults)
    is_site = isinstance(root, MapNode) and "lab" in root.entries
    if is_site:
        spec = site_from_text(text, file_name).lab
    else:
        spec = decode(root, LabSpec, faults) if root is not None else None
        if spec and root:
            check_lab(spec, root, (), faults)
    faults.raise_any()
    if spec is None:
        raise UsageError(f"{file_name} describes no lab; give it 'nodes' and 'networks'")
    return spec


def _read(name_or_path: str, near: Path | None) -> tuple[bytes, str]:
    if name_or_path in BUILT_IN:
        file = resources.files("tare").joinpath("sites", f"{name_or_path}.yaml")
        return file.read_bytes(), f"<{name_or_path}>"
    try:
        path = (near or Path()) / Path(name_or_path).expanduser()
        return read_given(path), str(path)
    except (OSError, ValueError, RuntimeError) as error:
        problem = error.strerror if isinstance(error, OSError) else error
        meant = f"{name_or_path}.yaml"
        cure = "use local, lab or the path of a site file"
        beside = (near or Path()) / meant
        is_there = os.path.isfile(beside)  # noqa: PTH113  # Path.is_file raises where a name is too long
        if isinstance(error, FileNotFoundError) and is_there:
            cure = f"did you mean {shown(meant)}?"
        raise UsageError(f"site {shown(name_or_path)} cannot be read: {problem}; {cure}") from error


def _root(text: str | bytes, faults: Faults) -> Node | None:
    decoded = decode_text(text, faults) if isinstance(text, bytes) else text
    return read_document(decoded, faults) if decoded is not None else None


class _OptionsReader(NamedTuple):
    """What a backend uses to check its options at `path`, in the platform at `platform`."""

    site: _SiteReader
    path: KeyPath
    platform: KeyPath
    storage: Collection[str]

    def fault(self, message: str, *path: str | int) -> None:
        """Record a fault below the key of the options (see OptionsReader)."""
        self.site.fault((*self.path, *path), message)

    def fault_of_platform(self, message: str) -> None:
        """Record a fault of the platform (see OptionsReader)."""
        self.site.fault(self.platform, message)

    def expand(self, text: str, *path: str | int) -> str:
        """Return `text` with ``${NAME}`` replaced (see OptionsReader)."""
        return self.site.expand(text, (*self.path, *path))


class _SiteReader:
    """Turns a decoded site file into a site."""

    def __init__(self, faults: Faults, root: Node, environment: Mapping[str, str]) -> None:
        self.faults = faults
        self.root = root
        self.environment = environment

    def read(self, file: SiteFile) -> Site:
        """Return the site, with every fault in it recorded."""
        lab, lab_node = file.lab, child(self.root, "lab")
        if lab and lab_node:
            check_lab(lab, lab_node, ("lab",), self.faults)
        nodes = self._nodes(file, lab)
        if not file.platforms and _is_empty(child(self.root, "platforms")):
            self.fault(("platforms",), "a site offers at least one platform; add one, such as 'bare: {}'")
        if file.memory is not None and file.memory < _LEAST_MEMORY:
            message = f"{format_bytes(file.memory)} is no memory of a node; write its unit, such as 128GiB"
            self.fault(("memory",), message)
        for name, network in file.networks.items():
            for path, message in pod_network_faults(network.pod):
                self.fault(("networks", name, "pod", *path), message)
        storage = self._storage(file, lab)
        return Site(
            name=file.site,
            nodes=nodes,
            slots_per_node=_cores() if file.slots_per_node == "cores" else int(file.slots_per_node),
            platforms={name: self._platform(name, one, storage) for name, one in file.platforms.items()},
            networks=file.networks or (lab.site_networks() if lab else {}),
            storage=storage,
            agent=self._agent(file) or (() if lab or nodes == _THIS_MACHINE else ("ssh",)),
            staging=self._staging(file, lab),
            management=file.management or (_LAB_MANAGEMENT if lab else ()),
            lab=lab,
            shared_cores=_cores() if lab else None,
            shared_cpus=_cpus() if lab else (),
            memory_bytes=file.memory,
            peaks=Peaks(memory_bytes_per_s=file.peaks.memory_bandwidth, flops=file.peaks.flops),
            binds_ranks=file.bind is None,
            reports_placement=file.attest is not False,
            reports_transport=file.attest is True,
            redact=self._redact(file),
            software=read_software(file, self.fault),
            telemetry=watching(file.telemetry, TelemetryOptions(), self.root, self.faults),
        )

    def fault(self, path: KeyPath, message: str) -> None:
        """Record the fault `message` for the value at `path`, without an index into what is no list."""
        node = find(self.root, path)
        if path and isinstance(path[-1], int) and not isinstance(find(self.root, path[:-1]), ListNode):
            path = path[:-1]
        self.faults.add(node, path, message)

    def _attempt(self, path: KeyPath, text: str, expand: Callable[[str], str]) -> str:
        try:
            return expand(text)
        except ValueError as error:
            self.fault(path, str(error))
            return text

    def expand(self, text: str, path: KeyPath) -> str:
        """Return `text` with ``${NAME}`` replaced."""
        return self._attempt(path, text, lambda one: expand_environment(one, self.environment))

    def _folder(self, text: str, path: KeyPath) -> str:
        folder = self.expand(text, path)
        if not folder.startswith(("/", "${", "~")):
            self.fault(path, f"{shown(text)} is a relative path; write /…, ~/… or ${{NAME}}/…")
        return folder

    def _storage(self, file: SiteFile, lab: LabSpec | None) -> dict[str, str]:
        """Return the folder of each storage path, those of the lab first."""
        found = lab.site_storage() if lab else {}
        for name, text in file.storage.items():
            if name in found:
                self.fault(("storage", name), "the lab has a storage path of this name; rename one of them")
            found[name] = self._folder(text, ("storage", name))
        return found

    def _nodes(self, file: SiteFile, lab: LabSpec | None) -> tuple[str, ...]:
        nodes: dict[str, None] = {}
        for number, text in enumerate(file.nodes):
            path: KeyPath = ("nodes", number)
            try:
                names = expand_nodes(text)
            except ValueError as error:
                self.fault(path, str(error))
                continue
            for name in names:
                if not _HOST.fullmatch(name):
                    cure = "write a list, such as [n1, n2]" if "," in name else "use letters, digits, - and ."
                    self.fault(path, f"{shown(name)} is not the name of a host; {cure}")
                elif name in nodes:
                    self.fault(path, f"node {name} is there twice; remove one")
                nodes[name] = None
        written = child(self.root, "nodes")
        if lab is None and (written is None or _is_empty(written)):
            self.fault(
                () if written is None else ("nodes",),
                "a site has nodes; add 'nodes: [localhost]', or a 'lab'",
            )
        if isinstance(written, ScalarNode) and isinstance(written.value, int):
            self.fault(("nodes",), f"{written.text} is not the name of a host; name them, such as 'n[1-4]'")
        return tuple(nodes) or (lab.node_names if lab else ())

    def _platform(self, name: str, file: PlatformFile, storage: Mapping[str, str]) -> Platform:
        path: KeyPath = ("platforms", name)
        prefix = self._folder(file.prefix, (*path, "prefix")) if file.prefix is not None else None
        return Platform(
            backend=file.backend,
            launcher=file.launcher,
            runtime=self._runtime(file),
            prefix=prefix,
            path=tuple(self._folder(one, (*path, "path", n)) for n, one in enumerate(file.path)),
            env={key: self.expand(value, (*path, "env", key)) for key, value in file.env.items()},
            mpi=file.mpi,
            container=self._container(file, path),
            options=self._options(file, path, storage),
            software=read_software(file, lambda at, message: self.fault((*path, *at), message)),
        )

    @staticmethod
    def _runtime(file: PlatformFile) -> str:
        plugin = backends().get(file.backend)
        return (plugin.runtime if plugin else "") or file.runtime

    def _options(self, file: PlatformFile, path: KeyPath, storage: Collection[str]) -> BackendOptions:
        """Return the options of the platform's backend; options of other backends are faults."""
        for name in option_types():
            if name != file.backend and getattr(file, name, None) is not None:
                self.fault((*path, name), f"backend {file.backend} takes none; add 'backend: {name}'")
        try:
            plugin = backend(file.backend)
        except UsageError as error:
            self.fault((*path, "backend"), str(error))
            return BackendOptions()
        if plugin.runtime and file.runtime != "native":
            self.fault((*path, "runtime"), plugin.runtime_fault)
        here = (*path, plugin.name)
        written = getattr(file, plugin.name, None)
        node = child(find(self.root, path), plugin.name)
        is_null = isinstance(node, ScalarNode) and node.value is None
        if written is None and node is not None and not is_null:
            return BackendOptions()  # it could not be decoded, and its faults are recorded
        return plugin.read_options(written, _OptionsReader(self, here, path, storage))

    def _container(self, file: PlatformFile, path: KeyPath) -> ContainerOptions | None:
        here: KeyPath = (*path, "container")
        one = file.container
        if not takes_container(file.runtime):
            if one is not None:
                name = file.runtime
                self.fault(here, f"runtime {name} takes none; add a runtime, such as 'runtime: podman'")
            return None
        if one is None and file.runtime not in installed("tare.runtimes"):
            return None  # no runtime at all: the plan reports it
        if one is None or (one.image is None) == (one.rootfs is None):
            found = "has both" if one and one.image else "is missing"
            self.fault(
                here if one else path,
                f"what runtime {file.runtime} makes containers of {found}; give container one 'image' or "
                "'rootfs'",
            )
            return None
        return msgspec.structs.replace(
            one,
            image=self.expand(one.image, (*here, "image")) if one.image is not None else None,
            rootfs=without_links(self._folder(one.rootfs, (*here, "rootfs"))) if one.rootfs else None,
            binds=tuple(self._bind(text, (*here, "binds", n)) for n, text in enumerate(one.binds)),
            devices=tuple(self._folder(text, (*here, "devices", n)) for n, text in enumerate(one.devices)),
            options=tuple(self.expand(text, (*here, "options", n)) for n, text in enumerate(one.options)),
            program=self.expand(one.program, (*here, "program")) if one.program is not None else None,
        )

    def _bind(self, text: str, path: KeyPath) -> str:
        expanded = self.expand(text, path)
        source, _, rest = expanded.partition(":")
        target, _, mode = rest.partition(":")
        is_absolute = all(one.startswith(("/", "${")) for one in (source, target or source))
        if not is_absolute or mode not in ("", "ro"):
            self.fault(path, f"{shown(text)} is not SOURCE[:TARGET[:ro]] with paths from /; write /a:/b:ro")
        return expanded

    def _staging(self, file: SiteFile, lab: LabSpec | None) -> str | None:
        if file.staging is None:
            return None
        if lab is not None:
            self.fault(("staging",), "nodes of a lab share the files of this machine; remove it")
        folder = self.expand(file.staging, ("staging",))
        if not folder.startswith("/"):
            self.fault(("staging",), f"{shown(folder)} is a relative path; write /…")
        return folder

    def _redact(self, file: SiteFile) -> tuple[str, ...]:
        for number, entry in enumerate(file.redact):
            if fault := fault_of(entry):
                self.fault(("redact", number), f"{shown(entry)} {fault}")
        if len(file.redact) > MOST_ENTRIES:
            self.fault(("redact",), f"more than {MOST_ENTRIES} words and patterns; use patterns for many")
        return file.redact

    def _agent(self, file: SiteFile) -> tuple[str, ...]:
        try:
            words = shlex.split(file.agent) if isinstance(file.agent, str) else file.agent
        except ValueError as error:
            self.fault(("agent",), f"{error}; close the quotes, or write the agent as a list")
            return ()
        return tuple(self.expand(word, ("agent",)) for word in words)


def _is_empty(node: Node | None) -> bool:
    """Return whether `node` is a mapping or list that was written without any entry."""
    return (isinstance(node, MapNode) and not node.entries) or (isinstance(node, ListNode) and not node.items)


def _cores() -> int:
    """Return how many cores this process may use (sched_getaffinity(2))."""
    return len(os.sched_getaffinity(0))


def _cpus() -> tuple[tuple[int, ...], ...]:
    """Return the CPUs that this process may use, grouped by core; an unknown core has one CPU."""
    cores: dict[tuple[int, ...], list[int]] = {}
    for cpu in sorted(os.sched_getaffinity(0)):
        topology = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology")
        try:
            core = tuple(int((topology / name).read_text()) for name in ("physical_package_id", "core_id"))
        except (OSError, ValueError):
            core = (cpu,)
        cores.setdefault(core, []).append(cpu)
    return tuple(tuple(cores[core]) for core in sorted(cores))
