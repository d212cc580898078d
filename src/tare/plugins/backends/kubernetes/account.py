"""Give a pod's user an account that the image lacks: an init container writes a passwd file. Pure.

ssh and sshd refuse a user without a line in /etc/passwd, or with the shell /sbin/nologin. Where a cluster
chooses the user, as OpenShift's restricted-v2 does, no image has that line, and in most images /etc/passwd is
not writable. So an init container, which runs as the same user, writes the file into a volume of the pod. The
main container mounts it as /etc/passwd. This needs no privilege and nothing from the image.
"""

from __future__ import annotations

import msgspec

from tare.plugins.backends.kubernetes.objects import Container, EnvVar, Mount, PodSpec
from tare.plugins.backends.kubernetes.options import RUN, SCRIPTS, KubernetesOptions

VOLUME = "run"
"""The pod's volume for the file."""
LAST_WORDS = "FallbackToLogsOnError"
"""The policy by which a failed pod's status has the last lines that it printed, such as sshd's error."""
_NAME = "passwd"
_PATH = "/etc/passwd"


def with_account(spec: PodSpec, options: KubernetesOptions) -> PodSpec:
    """Return `spec` with an init container that writes the user's account, where the options ask for it."""
    if not options.writes_passwd:
        return spec
    [main] = spec.containers
    writer = Container(
        name=_NAME,
        image=main.image,
        image_pull_policy=main.image_pull_policy,
        command=("sh", f"{SCRIPTS}/account.sh", f"{RUN}/{_NAME}"),
        env=tuple(EnvVar(name="HOME", value=one.value) for one in main.env if one.name == "HOME"),
        resources=main.resources,  # a pod is Guaranteed only if its init containers are, too
        security_context=main.security_context,
        termination_message_policy=LAST_WORDS,
        volume_mounts=tuple(one for one in main.volume_mounts if one.name in {VOLUME, "scripts"}),
    )
    seen = Mount(name=VOLUME, mount_path=_PATH, sub_path=_NAME)
    main = msgspec.structs.replace(main, volume_mounts=(*main.volume_mounts, seen))
    return msgspec.structs.replace(spec, init_containers=(writer,), containers=(main,))
