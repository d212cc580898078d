"""Software environments: what modules, Spack and lines of shell code load before a program starts."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterable, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from tare.core.fields import Words
from tare.core.values import Scalar, Settings

SOFTWARE_SETTINGS = ("modules", "spack", "setup")
"""The settings of a study that load software, unless a workload has a parameter of that name."""

Modules = Annotated[
    Words,
    Meta(description="Environment modules to load, in this order.", examples=[["gcc/13", "openmpi/5.0"]]),
]
Specs = Annotated[
    Words, Meta(description="Installed Spack packages to load.", examples=["gromacs@2024 +mpi"])
]
Lines = Annotated[
    Words,
    Meta(
        description="Lines for bash that are run before modules and packages are loaded.",
        examples=[["module use /opt/modulefiles"]],
    ),
]


class Software(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one place of a site or study loads: first `setup`, then `modules`, then `spack`.

    `setup` is text for bash. `spack` holds the words of specs, as `spack load` takes them.
    """

    setup: str = ""
    modules: tuple[str, ...] = ()
    spack: tuple[str, ...] = ()


Layers = tuple[Software, ...]
"""Software environments that add up: each is loaded after the one before."""


def layers_of(places: Iterable[Software]) -> Layers:
    """Return `places` without those that load nothing."""
    return tuple(one for one in places if one != Software())


def written_software(modules: Sequence[str], spack: Sequence[str], setup: Sequence[str]) -> Software:
    """Return the software of a place as a file writes it.

    Each text of `modules` and of `spack` may name several, separated by blanks. Raises ValueError with the
    cure for text that cannot be loaded.
    """
    return software_of({"modules": " ".join(modules), "spack": " ".join(spack), "setup": "\n".join(setup)})


def software_of(settings: Settings, without: Iterable[str] = ()) -> Software:
    """Return the software that `settings` load, but not by the settings that are named in `without`.

    Raises ValueError with the cure for text that cannot be loaded.
    """
    texts = {name: str(settings.get(name, "")) for name in SOFTWARE_SETTINGS if name not in set(without)}
    return Software(
        setup=_setup(texts.get("setup", "")),
        modules=tuple(_names("module", texts.get("modules", "").split())),
        spack=tuple(_names("Spack package", _specs(texts.get("spack", "")))),
    )


def settings_of(layers: Layers) -> dict[str, Scalar]:
    """Return the settings of a case with these layers, as its row of a table shows them."""
    texts = {
        "modules": " ".join(name for one in layers for name in one.modules),
        "spack": " ".join(_word(word) for one in layers for word in one.spack),
        "setup": "\n".join(one.setup for one in layers if one.setup),
    }
    return {name: text for name, text in texts.items() if text}


def digest_of(layers: Layers) -> str:
    """Return a hash of what the layers load."""
    return hashlib.blake2b(msgspec.json.encode(layers), digest_size=8).hexdigest()


def _names(kind: str, names: Sequence[str]) -> Sequence[str]:
    for name in names:
        if name.startswith("-"):
            raise ValueError(f"{name!r} is an option, not the name of a {kind}; write it as a 'setup' line")
        if not name.isprintable():
            raise ValueError(f"{name!r} is not the name of a {kind}; leave out characters that do not print")
    return names


def _specs(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}; close the quotes of the Spack spec") from error


def _setup(text: str) -> str:
    for character in text:
        if not character.isprintable() and character not in "\n\t":
            raise ValueError(
                f"a setup line holds the character {character!r}; leave out characters that do not print"
            )
    return text.strip("\n") if text.strip() else ""


def _word(word: str) -> str:
    """Return a word of a spec as it is written: quoted only where it holds blanks or quotes."""
    return shlex.quote(word) if any(one.isspace() or one in "'\"\\" for one in word) else word
