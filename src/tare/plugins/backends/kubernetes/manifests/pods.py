"""Build the pods of a task: what each role runs, mounts and requests, and on which nodes it may be. Pure.

ssh and sshd refuse a user without a line in /etc/passwd, or with the shell /sbin/nologin. Where a cluster
chooses the user, as OpenShift's restricted-v2 does, no image has that line, and in most images /etc/passwd is
not writable. So an init container, which runs as the same user, writes the file into a volume of the pod. The
main container mounts it as /etc/passwd. This needs no privilege and nothing from the image.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tare.core.scheduler import Task
from tare.plugins.backends.kubernetes.manifests import attachments, placement
from tare.plugins.backends.kubernetes.manifests.script import COUNTER, SAMPLER, Inputs, input_keys
from tare.plugins.backends.kubernetes.objects import created as k8s
from tare.plugins.backends.kubernetes.objects import naming
from tare.plugins.backends.kubernetes.options import RUN, SCRIPTS, WORK, KubernetesOptions, Seccomp

_INPUTS = "/tare/inputs"
_SHM, _HUGE_PAGES = "/dev/shm", "/dev/hugepages"  # noqa: S108  # paths in the pod
_RUN_VOLUME = "run"
_LAST_OUTPUT = "FallbackToLogsOnError"
"""The policy by which a failed pod's status has the last lines that it printed, such as sshd's error."""
_TASK = ("bash", f"{SCRIPTS}/task.sh")


class PodMaker(msgspec.Struct, frozen=True, kw_only=True):
    """Makes the pods of one task from its platform's options. `config` is the name of its ConfigMap."""

    task: Task
    options: KubernetesOptions
    config: str
    inputs: Inputs

    def launcher(self) -> k8s.PodTemplate:
        """Return the pod that starts the ranks.

        No rank runs in it. So it is small, and needs no data network.
        """
        resources = placement.launcher_resources(self.options)
        container = self._container(naming.LAUNCHER, _TASK, resources, is_user=False)
        spec = self._spec(container, is_user=False)
        spec = placement.launcher_placed(spec, self.options, naming.object_name(self.task))
        return k8s.PodTemplate(metadata=self._meta(naming.LAUNCHER), spec=spec)

    def worker(self) -> k8s.PodTemplate:
        """Return a pod in which ranks run; its sshd starts them, and it is ready when sshd's port is open."""
        port = self.options.ssh_port
        command = ("sh", f"{SCRIPTS}/prepare.sh", *self.options.sshd_command)
        container = self._container(naming.WORKER, command, self._resources())
        container = msgspec.structs.replace(
            container,
            ports=(k8s.Port(container_port=port, name=naming.INTERFACE_PORT),),
            readiness_probe=k8s.Probe(tcp_socket=k8s.TcpSocket(port=port), period_seconds=1),
            termination_message_policy=_LAST_OUTPUT,
        )
        spec = self._spec(container)
        if not self.options.shares_nodes:
            apart = {naming.TASK: naming.object_name(self.task), naming.ROLE: naming.WORKER}
            spec = placement.away(spec, apart)
        spec = placement.spread(spec, self.options, naming.object_name(self.task))
        return k8s.PodTemplate(metadata=self._meta(naming.WORKER, self._request()), spec=spec)

    def single(self) -> k8s.PodTemplate:
        """Return the only pod of a task on one node."""
        container = self._container(naming.LAUNCHER, _TASK, self._resources())
        meta = self._meta(naming.LAUNCHER, self._request(0))
        return k8s.PodTemplate(metadata=meta, spec=self._spec(container))

    def server(self) -> k8s.PodTemplate:
        """Return the server pod of a pair; it is ready when its program listens."""
        ready = k8s.Probe(exec=k8s.ExecAction(command=("test", "-e", f"{WORK}/ready")), period_seconds=1)
        return self._one_of_pair(naming.SERVER, 0, {}, ready)

    def client(self, address: str) -> k8s.PodTemplate:
        """Return the client pod of a pair, whose server listens at `address`."""
        env = {"TARE_ADDRESS0": address}
        pod = self._one_of_pair(naming.CLIENT, 1, env, None)
        other = {naming.TASK: naming.object_name(self.task), naming.ROLE: naming.SERVER}
        is_apart = self.task.layout.nodes > 1
        spec = placement.away(pod.spec, other) if is_apart else placement.near(pod.spec, other)
        return msgspec.structs.replace(pod, spec=spec)

    def _one_of_pair(
        self, role: str, number: int, env: Mapping[str, str], probe: k8s.Probe | None
    ) -> k8s.PodTemplate:
        env = {"JOB_COMPLETION_INDEX": str(number), **env}
        container = self._container(role, _TASK, self._resources())
        container = msgspec.structs.replace(
            container,
            env=(*container.env, *(k8s.EnvVar(name=name, value=value) for name, value in env.items())),
            readiness_probe=probe,
        )
        spec = self._spec(container)
        return k8s.PodTemplate(metadata=self._meta(role, self._request(number)), spec=spec)

    def _meta(self, role: str, annotations: Mapping[str, str] | None = None) -> k8s.Meta:
        """Return a pod's metadata; `annotations` is None for a pod in which no program runs."""
        own = self.options.annotations if annotations is not None else {}
        labels = self.options.labels | naming.labels(self.task) | {naming.ROLE: role}
        return k8s.Meta(labels=labels, annotations=own | dict(annotations or {}))

    def _request(self, number: int | None = None) -> dict[str, str]:
        network = self.task.network
        return attachments.request(network, self.options.namespace, number) if network else {}

    def _resources(self) -> k8s.Resources:
        """Return whole CPUs: one for each thread of the node's ranks, unless the site sets a number."""
        options, layout = self.options, self.task.layout
        asked: k8s.Quantities = {"cpu": str(options.cpus or layout.ranks_per_node * layout.threads)}
        if options.memory_bytes is not None:
            asked["memory"] = str(options.memory_bytes)
        if options.ephemeral_storage_bytes is not None:
            asked["ephemeral-storage"] = str(options.ephemeral_storage_bytes)
        asked |= {f"hugepages-{size}": str(amount) for size, amount in options.hugepages.items()}
        asked |= options.resources | attachments.device_requests(self.task.network)
        return k8s.Resources(requests=asked, limits=asked)

    def _container(
        self, name: str, command: tuple[str, ...], resources: k8s.Resources, *, is_user: bool = True
    ) -> k8s.Container:
        node = k8s.EnvSource(field_ref=k8s.FieldRef(field_path="spec.nodeName"))
        return k8s.Container(
            name=name,
            image=self.options.image,
            image_pull_policy=self.options.pull_policy,
            command=command,
            env=(
                k8s.EnvVar(name="TARE_NODE", value_from=node),
                k8s.EnvVar(name="HOME", value=self._home),
                *self._own_storage(),
            ),
            resources=resources,
            security_context=privileges(self.options),
            volume_mounts=self._mounts(is_user=is_user),
        )

    def _own_storage(self) -> tuple[k8s.EnvVar, ...]:
        """Return the variable that names the task's own folder on the storage path, for the pod's script."""
        own = self.task.own_storage
        return (k8s.EnvVar(name="TARE_RUN", value=own.rpartition("/tare-")[2]),) if own else ()

    @property
    def _home(self) -> str:
        return "/root" if self.options.user == 0 else self.options.home

    def _spec(self, container: k8s.Container, *, is_user: bool = True) -> k8s.PodSpec:
        """Return a pod; `is_user` says that the user's program runs in it."""
        options, network = self.options, self.task.network
        is_host = network is not None and network.pod.is_host
        spec = k8s.PodSpec(
            containers=(container,),
            volumes=self._volumes(is_user=is_user),
            restart_policy="Never",
            host_network=is_host,
            dns_policy="ClusterFirstWithHostNet" if is_host else "",
            service_account_name=options.service_account or "",
            automount_service_account_token=False,
            enable_service_links=False,
            image_pull_secrets=tuple(k8s.NameRef(name=name) for name in options.pull_secrets),
            priority_class_name=options.priority_class or "",
            scheduler_name=options.scheduler or "",
            security_context=identity(options),
            runtime_class_name=(options.runtime_class or "") if is_user else "",
        )
        spec = self._with_account(spec) if options.writes_passwd else spec
        return placement.placed(spec, options) if is_user else spec

    def _with_account(self, spec: k8s.PodSpec) -> k8s.PodSpec:
        """Return `spec` with an init container that writes the user's account (see account.sh)."""
        [main] = spec.containers
        writer = k8s.Container(
            name="passwd",
            image=main.image,
            image_pull_policy=main.image_pull_policy,
            command=("sh", f"{SCRIPTS}/account.sh", f"{RUN}/passwd"),
            env=(k8s.EnvVar(name="HOME", value=self._home),),
            resources=main.resources,  # a pod is Guaranteed only if its init containers are, too
            security_context=main.security_context,
            termination_message_policy=_LAST_OUTPUT,
            volume_mounts=tuple(one for one in main.volume_mounts if one.name in {_RUN_VOLUME, "scripts"}),
        )
        account = k8s.Mount(name=_RUN_VOLUME, mount_path="/etc/passwd", sub_path="passwd")
        main = msgspec.structs.replace(main, volume_mounts=(*main.volume_mounts, account))
        return msgspec.structs.replace(spec, init_containers=(writer,), containers=(main,))

    def _volumes(self, *, is_user: bool) -> tuple[k8s.Volume, ...]:
        options, keys = self.options, input_keys(self.inputs)
        names = ["account.sh", "facts.sh", "prepare.sh", "probe.sh", "rank.sh", "task.sh"]
        names += [SAMPLER] if self.task.sampler else []
        names += [COUNTER] if self.task.counter else []
        scripts = tuple(k8s.KeyPath(key=name, path=name) for name in names)
        found = [
            k8s.Volume(name="scripts", config_map=k8s.ConfigMapSource(name=self.config, items=scripts)),
            k8s.Volume(name=_RUN_VOLUME, empty_dir=k8s.EmptyDir()),
        ]
        if options.work is not None:
            found.append(_claim("work", options.work.claim))
        else:
            found.append(k8s.Volume(name="work", empty_dir=k8s.EmptyDir()))
            if keys:
                items = tuple(k8s.KeyPath(key=key, path=path) for key, path in keys.items())
                source = k8s.ConfigMapSource(name=self.config, items=items)
                found.append(k8s.Volume(name="inputs", config_map=source))
        if is_user and options.shm_bytes:
            memory = k8s.EmptyDir(medium="Memory", size_limit=str(options.shm_bytes))
            found.append(k8s.Volume(name="shm", empty_dir=memory))
        found += [
            k8s.Volume(name=_pages(size), empty_dir=k8s.EmptyDir(medium=f"HugePages-{size}"))
            for size in (options.hugepages if is_user else ())
        ]
        if self._storage_volume == "storage":
            found.append(_claim("storage", options.storage[self.task.storage or ""]))
        return tuple(found)

    @property
    def _storage_volume(self) -> str:
        """Return the name of the volume of the task's storage path; empty if no claim is named for it.

        It is the one of the campaigns if that has the same claim: a kubelet mounts one of two volumes of a
        pod with the same claim, and waits for the other for ever.
        """
        options = self.options
        claim = options.storage.get(self.task.storage or "")
        if claim is None:
            return ""
        return "work" if options.work is not None and options.work.claim == claim else "storage"

    def _mounts(self, *, is_user: bool) -> tuple[k8s.Mount, ...]:
        options = self.options
        found = [
            k8s.Mount(name="scripts", mount_path=SCRIPTS, read_only=True),
            k8s.Mount(name=_RUN_VOLUME, mount_path=RUN),
        ]
        if options.work is not None:
            within = self.task.folder.relative_to(options.work.path)
            found.append(k8s.Mount(name="work", mount_path=WORK, sub_path=str(within)))
        else:
            found.append(k8s.Mount(name="work", mount_path=WORK))
            if self.inputs:
                found.append(k8s.Mount(name="inputs", mount_path=_INPUTS, read_only=True))
        if is_user and options.shm_bytes:
            found.append(k8s.Mount(name="shm", mount_path=_SHM))
        for size in options.hugepages if is_user else ():
            path = f"{_HUGE_PAGES}-{size}" if len(options.hugepages) > 1 else _HUGE_PAGES
            found.append(k8s.Mount(name=_pages(size), mount_path=path))
        if self._storage_volume:
            found.append(k8s.Mount(name=self._storage_volume, mount_path=self.task.storage_path))
        return tuple(found)


def _claim(name: str, claim: str) -> k8s.Volume:
    return k8s.Volume(name=name, persistent_volume_claim=k8s.ClaimSource(claim_name=claim))


def _pages(size: str) -> str:
    """Return the name of the volume of huge pages of a size (core/v1, ResourceHugePagesPrefix)."""
    return f"hugepages-{size.lower()}"


def identity(options: KubernetesOptions) -> k8s.SecurityContext:
    """Return the user that a pod runs as. Without one the cluster chooses, as OpenShift does."""
    has_profile = options.seccomp is not Seccomp.CLUSTER
    profile = k8s.SeccompProfile(type=options.seccomp.value) if has_profile else None
    if options.user == 0:  # explicit, because OpenShift chooses another user if none is given
        return k8s.SecurityContext(run_as_user=0, seccomp_profile=profile)
    return k8s.SecurityContext(
        run_as_user=options.user_id,
        run_as_group=options.user_id,
        run_as_non_root=True,
        seccomp_profile=profile,
    )


def privileges(options: KubernetesOptions) -> k8s.SecurityContext:
    """Return the least privileges that programs need: OpenShift's restricted-v2 and the options'."""
    lock = ("IPC_LOCK",) if options.memlock == "unlimited" else ()
    add = (*lock, *options.capabilities)
    if options.user == 0:
        return k8s.SecurityContext(capabilities=k8s.Capabilities(add=add) if add else None)
    return k8s.SecurityContext(
        allow_privilege_escalation=False, capabilities=k8s.Capabilities(drop=("ALL",), add=add)
    )
