"""Of a file that is no study, site or list of rules, whoever named it, no message tells what it holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tare.config.rules_file import load_rules
from tare.config.site_file import load_lab_spec, load_site
from tare.config.study_file import load_study
from tare.core.errors import TareError
from tare.plugins import registry

SECRET = "hunter2hunter2"
OTHERS = {
    "id_ed25519": f"-----BEGIN OPENSSH PRIVATE KEY-----\n{SECRET}\n-----END OPENSSH PRIVATE KEY-----\n",
    ".netrc": f"machine github.com login bob password {SECRET}\n",
    ".pgpass": f"db.example:5432:prod:bob:{SECRET}\n",
    ".envrc": f"export AWS_SECRET_ACCESS_KEY={SECRET}\n",
    "credentials": f"[default]\naws_access_key_id = AKIAIOSFODNN7EXAMPLE\naws_secret_access_key = {SECRET}\n",
    "hosts.yml": f"github.com:\n    oauth_token: {SECRET}\n    user: bob\n",
    "config.json": f'{{"auths": {{"r.io": {{"auth": "{SECRET}"}}}}}}',
    "shadow": f"root:$6${SECRET}:19000:0:99999:7:::\nbob:$6${SECRET}:19000:0:99999:7:::\n",
    "password": f"{SECRET}\n",
    "starred": f"*{SECRET}\n",
    "tagged": f"!{SECRET} x\n",
    "handle": f"!{SECRET}!a x\n",
    "directive": f"%{SECRET} a\n---\n",
    "anchored": f"&{SECRET} *{SECRET}\n",
    "listed": f"- {SECRET}\n",
    "keyed": f"{SECRET}: {SECRET}\n",
    "quoted": f'"{SECRET}\n',
    "open": f"{{{SECRET}: [\n",
}


def _by_study(path: Path) -> object:
    study = path.with_name("study.yaml")
    study.write_text(f"study: s\nsite: {path.name!r}\nfactors: {{workload: [stream]}}\n")
    return load_study(study, registry.workloads)


READERS: dict[str, Callable[[Path], object]] = {
    "site of a study": _by_study,
    "site": lambda path: load_site(str(path)),
    "study": lambda path: load_study(path, registry.workloads),
    "rules": load_rules,
    "lab": load_lab_spec,
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", OTHERS)
def test_no_message_quotes_what_another_file_holds(name: str, reader: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(OTHERS[name])
    with pytest.raises(TareError) as caught:
        READERS[reader](path)
    message = str(caught.value)
    assert SECRET not in message
    assert "BEGIN" not in message
    assert "bob" not in message
    assert f"{path.name}:" in message, "and where that is"
