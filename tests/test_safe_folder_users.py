"""What touches a campaign folder opens nothing in it but through tare.core.safe_folder."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import tare

SOURCE = Path(tare.__file__).parent
PACKAGES = (
    "core",
    "app",
    "storage",
    "report",
    "live",
    "execution",
    "plugins/collectors",
    "plugins/backends/batch",
    "plugins/backends/kubernetes",
)
"""Packages that read or write what lies in a campaign folder."""

METHODS = {
    "read_text",
    "read_bytes",
    "write_text",
    "write_bytes",
    "iterdir",
    "glob",
    "rglob",
    "unlink",
    "rmdir",
}
METHODS |= {"mkdir", "touch", "symlink_to", "hardlink_to"}
FUNCTIONS = {
    "os": {
        "open",
        "listdir",
        "scandir",
        "walk",
        "remove",
        "unlink",
        "rename",
        "replace",
        "mkdir",
        "makedirs",
    },
    "shutil": {"copy", "copy2", "copyfile", "copytree", "move", "rmtree"},
    "gzip": {"open"},
    "tarfile": {"open"},
}
ELSEWHERE = {
    "core/safe_folder.py": "the module that all others use",
    "core/kernel_files.py": "the kernel's own files",
    "core/user_files.py": "the files that the user names",
    "core/rank_variables.py": "the package's own files",
    "app/importing.py": "whether the folder that the user names is empty",
    "app/init/survey.py": "the kernel's own files",
    "app/platform_checks.py": "a temporary folder of its own, for one run of Tare's own program",
    "app/reparsing.py": "removes the folder that it made itself",
    "app/site_checks.py": "a temporary folder of its own",
    "plugins/backends/batch/script.py": "the package's own files",
    "plugins/backends/kubernetes/manifests/script.py": "the package's own files",
    "plugins/backends/kubernetes/transfer/receiving.py": "an archive in memory, or in a file without a name",
    "plugins/collectors/packets/__init__.py": "its own program",
    "plugins/collectors/sampler/bundle.py": "its own program",
    "plugins/collectors/sampler/node.py": "runs on nodes, without Tare; reads /proc and /sys",
    "plugins/collectors/sampler/readers.py": "runs on nodes, without Tare; reads /proc and /sys",
    "plugins/collectors/packets/node.py": "runs on nodes, without Tare; reads /proc and /sys",
    "plugins/collectors/sampler/sources": "runs on nodes, without Tare; reads /proc and /sys",
    "plugins/collectors/interfaces.py": "the counters of this machine's kernel",
    "report/charts/scripts.py": "the user's cache",
    "live/opening.py": "a file for the user's browser alone",
    "execution/access_rights.py": "folders that nobody may enter: it follows no links",
    "live/pages.py": "the package's own files",
    "live/server.py": "the user's token",
    "live/watch.py": "the folder of campaigns that the user names",
    "storage/trees.py": "the logs that the user names",
    "storage/sealing.py": "a temporary folder of its own, for ssh-keygen",
    "storage/imports.py": "the logs that the user names",
    "execution/parsing.py": "the log that the user names",
    "execution/profiling.py": "the package's own files",
    "execution/cache.py": "products of stages, which the user's own programs made and which no page shows",
    "execution/inputs.py": "the inputs that the user names; copies are written by SafeFolder",
    "execution/transport_reports/gathering.py": "removes a folder that this run made",
}
"""What opens other files than those of campaigns, and which."""


def openings(text: str) -> Iterator[str]:
    """Yield the line and the name of each call that opens, makes or removes a file by its path."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        match node.func:
            case ast.Name(id="open"):
                yield f"{node.lineno}: open"
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in FUNCTIONS:
                if name in FUNCTIONS[module]:
                    yield f"{node.lineno}: {module}.{name}"
            case ast.Attribute(attr="open") if node.keywords or isinstance(
                (*node.args, None)[0], ast.Constant
            ):
                yield f"{node.lineno}: open with a mode, as of a path"
            case ast.Attribute(attr=name) if name in METHODS:
                yield f"{node.lineno}: {name}"


def test_only_one_module_opens_what_is_in_a_campaign() -> None:
    paths = [path for package in PACKAGES for path in sorted((SOURCE / package).rglob("*.py"))]
    found = [
        f"{path.relative_to(SOURCE)}:{opening}" for path in paths for opening in openings(path.read_text())
    ]
    assert [line for line in found if not line.startswith(tuple(ELSEWHERE))] == []
    assert [name for name in ELSEWHERE if not any(line.startswith(name) for line in found)] == []


def test_the_search_finds_what_it_looks_for() -> None:
    text = 'open("x")\nos.open("x", 0)\nPath("x").read_text()\nshutil.rmtree("x")\nplace.reader()\n'
    text += 'path.open("rb")\nplace.open()\n'
    found = ["1: open", "2: os.open", "3: read_text", "4: shutil.rmtree", "6: open with a mode, as of a path"]
    assert list(openings(text)) == found
