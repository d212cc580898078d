"""Kubeconfigs as people have them: several files, odd names, plug-ins of clouds, proxies, other users."""

from __future__ import annotations

import json
import ssl
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from backends.kubernetes.simulated_api import Doc, SimulatedApiServer
from tare.core.errors import UsageError
from tare.plugins.backends.kubernetes.api.cluster import PODS, Cluster, NotAnApiServer
from tare.plugins.backends.kubernetes.options import KubernetesOptions

V1 = "client.authentication.k8s.io/v1"


def connect(path: Path | None = None, context: str | None = None) -> Cluster:
    kubeconfig = str(path) if path else None
    return Cluster.connect(KubernetesOptions(image="", kubeconfig=kubeconfig, context=context))


@pytest.fixture
def edit(api: SimulatedApiServer, tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes the kubeconfig of the double with another user, or other fields."""

    def write(credentials: Doc | None = None, at: Doc | None = None, **context: Any) -> Path:
        path = api.kubeconfig(tmp_path)
        config = json.loads(path.read_text())
        if credentials is not None:
            config["users"][0]["user"] = credentials
        config["clusters"][0]["cluster"] |= at or {}
        config["contexts"][0]["context"] |= context
        path.write_text(json.dumps(config))
        return path

    return write


def plug_in(code: str, version: str = V1, **fields: Any) -> Doc:
    return {"exec": {"apiVersion": version, "command": sys.executable, "args": ["-c", code], **fields}}


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1"])
def test_a_plug_in_is_told_its_version_and_its_cluster(
    api: SimulatedApiServer, edit: Callable[..., Path], version: str
) -> None:
    code = (
        "import json, os; info = json.loads(os.environ['KUBERNETES_EXEC_INFO']); "
        "assert info['spec']['cluster']['server']; assert os.environ['MORE'] == '1'; "
        "print(json.dumps({'apiVersion': info['apiVersion'], 'status': {'token': 't'}}))"
    )
    full = f"client.authentication.k8s.io/{version}"
    env = [{"name": "MORE", "value": "1"}]
    cluster = connect(edit(plug_in(code, full, provideClusterInfo=True, interactiveMode="Never", env=env)))
    assert cluster.list_all(PODS)[0] == []
    cluster.close()


def test_a_plug_in_is_given_the_certificate_and_not_its_path(
    edit: Callable[..., Path], tmp_path: Path
) -> None:
    """ExecCredential's spec.cluster has no path: client-go reads the file (rest.ConfigToExecCluster)."""
    (tmp_path / "ca.crt").write_text(
        ssl.DER_cert_to_PEM_cert(ssl.create_default_context().get_ca_certs(True)[0])
    )
    code = (
        "import base64, json, os; at = json.loads(os.environ['KUBERNETES_EXEC_INFO'])['spec']['cluster']; "
        "assert sorted(at) == ['certificate-authority-data', 'server', 'tls-server-name'], at; "
        "assert base64.b64decode(at['certificate-authority-data']).startswith(b'-----BEGIN'); "
        "print(json.dumps({'status': {'token': 't'}}))"
    )
    given = plug_in(code, provideClusterInfo=True, interactiveMode="Never")
    at = {"certificate-authority": "ca.crt", "tls-server-name": "kubernetes"}
    cluster = connect(edit(given, at))
    assert cluster.list_all(PODS)[0] == []
    cluster.close()


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("import sys; sys.exit('run aws sso login')", "ended with exit code 1: run aws sso login"),
        ("print('{}')", "printed neither a token nor a certificate"),
        ("print('Welcome!')", "printed no credentials"),
    ],
)
def test_a_plug_in_that_fails_is_reported_in_its_words(
    edit: Callable[..., Path], code: str, what: str
) -> None:
    cluster = connect(edit(plug_in(code)))
    with pytest.raises(NotAnApiServer, match=what):
        cluster.list_all(PODS)
    cluster.close()


def test_a_plug_in_that_is_not_there_is_reported_with_its_hint(edit: Callable[..., Path]) -> None:
    gone = {"apiVersion": V1, "command": "no-such-plug-in", "installHint": "get it at\n example.org"}
    cluster = connect(edit({"exec": gone}))
    with pytest.raises(NotAnApiServer, match=r"no-such-plug-in is not there; get it at example\.org"):
        cluster.list_all(PODS)
    cluster.close()


def test_a_plug_in_beside_its_kubeconfig_is_found(edit: Callable[..., Path], tmp_path: Path) -> None:
    script = tmp_path / "bin" / "login"
    script.parent.mkdir()
    script.write_text('#!/bin/sh\necho \'{"status": {"token": "t"}}\'\n')
    script.chmod(0o755)
    cluster = connect(edit({"exec": {"apiVersion": V1, "command": "./bin/login"}}))
    assert cluster.list_all(PODS)[0] == []
    cluster.close()


def test_a_context_may_have_its_cluster_and_user_in_other_files(
    edit: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = json.loads(edit().read_text())
    files = [tmp_path / "missing"]
    for kind in ("contexts", "clusters", "users"):
        files.append(tmp_path / kind)
        files[-1].write_text(yaml.safe_dump({kind: config[kind]}))
    files[-1].write_text(yaml.safe_dump({"users": config["users"], "current-context": "it"}))
    monkeypatch.setenv("KUBECONFIG", ":".join(map(str, files)))
    cluster = connect()
    assert cluster.list_all(PODS)[0] == []
    cluster.close()


@pytest.mark.parametrize("name", ["arn:aws:eks:eu-west-1:1:cluster/a", "2024-01-01", "0123", "ü b", "a'b\"#"])
def test_contexts_may_have_odd_names(edit: Callable[..., Path], name: str) -> None:
    path = edit()
    config = json.loads(path.read_text())
    config["contexts"] += [{"name": name, "context": config["contexts"][0]["context"]}, {"name": "damaged"}]
    text = yaml.safe_dump(config, allow_unicode=True)
    path.write_text(text.replace(f"'{name}'", name) if name.replace("-", "").isdigit() else text)
    cluster = connect(path, name)
    assert cluster.list_all(PODS)[0] == []
    cluster.close()


def test_a_context_that_is_not_there_is_named_with_those_that_are(edit: Callable[..., Path]) -> None:
    with pytest.raises(UsageError, match="there is no context 'prod'; there are: it"):
        connect(edit(), "prod")


@pytest.mark.parametrize(
    ("context", "what"),
    [({"user": "gone"}, "user 'gone', which is not"), ({"cluster": "gone"}, "cluster 'gone', which is not")],
)
def test_what_a_context_names_and_is_not_there_is_named(
    edit: Callable[..., Path], context: dict[str, str], what: str
) -> None:
    with pytest.raises(UsageError, match=what):
        connect(edit(**context))


def test_a_context_without_a_user_has_no_credentials(edit: Callable[..., Path]) -> None:
    cluster = connect(_without_user(edit()))
    assert cluster.list_all(PODS)[0] == [], "the double asks for none"
    cluster.close()


def _without_user(path: Path) -> Path:
    config = json.loads(path.read_text())
    del config["contexts"][0]["context"]["user"]
    path.write_text(json.dumps(config))
    return path


def test_requests_are_made_as_the_user_whom_the_kubeconfig_names(
    api: SimulatedApiServer, edit: Callable[..., Path]
) -> None:
    """Otherwise they are made with rights that nobody meant to use."""
    path = edit({"token": "t", "as": "jane", "as-groups": ["a", "b"], "as-user-extra": {"why": ["x"]}})
    cluster = connect(path)
    headers = cluster.connection.http.headers
    assert headers["Impersonate-User"] == "jane"
    assert headers.get_list("Impersonate-Group") == ["a", "b"]
    assert headers["Impersonate-Extra-why"] == "x"
    cluster.close()


def test_a_proxy_of_the_kubeconfig_is_used(edit: Callable[..., Path]) -> None:
    asked: list[str] = []

    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(502)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's name
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    cluster = connect(edit(at={"proxy-url": f"http://127.0.0.1:{server.server_port}"}))
    with pytest.raises(Exception, match="502"):
        cluster.list_all(PODS)
    assert asked
    assert asked[0].startswith("http://127.0.0.1:")
    server.shutdown()
    server.server_close()
    cluster.close()


def test_a_network_in_no_proxy_needs_no_proxy(
    edit: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = edit()
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "example.org,x/y,127.0.0.0/8")
    cluster = connect(path)
    assert cluster.list_all(PODS)[0] == []
    cluster.close()


def test_a_proxy_that_needs_another_library_is_no_traceback(edit: Callable[..., Path]) -> None:
    with pytest.raises(UsageError, match="socksio"):
        connect(edit(at={"proxy-url": "socks5://127.0.0.1:9"}))


def test_a_token_file_is_found_beside_the_kubeconfig(edit: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t\n")
    cluster = connect(edit({"tokenFile": "token"}))
    assert cluster.list_all(PODS)[0] == []
    cluster.close()


def test_a_kubeconfig_that_has_no_end_is_refused() -> None:
    """As a site of another person may name it."""
    with pytest.raises(UsageError, match=r"/dev/zero cannot be read: .*a pipe, a device or the like"):
        connect(Path("/dev/zero"))


def test_a_certificate_that_has_no_end_is_refused(edit: Callable[..., Path]) -> None:
    path = edit({"client-certificate": "/dev/zero", "client-key": "/dev/zero"})
    with pytest.raises(UsageError, match="a pipe, a device or the like"):
        connect(path)
