"""The motorBike case of OpenFOAM: the differences between editions, and the changes to the tutorial."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from tare.core.case import Case
from tare.core.workload import Stage
from tare.plugins.workloads.common.application import edited, is_heavy, serial


class Edition(NamedTuple):
    """The names and commands in one family of OpenFOAM versions."""

    tutorial: str
    features: str
    potential: tuple[str, ...]
    solver: tuple[str, ...]


_SIMPLE = "incompressible/simpleFoam/motorBike"

EDITIONS = {
    "com": Edition(_SIMPLE, "surfaceFeatureExtract", ("potentialFoam", "-writephi"), ("simpleFoam",)),
    "org": Edition(_SIMPLE, "surfaceFeatures", ("potentialFoam",), ("simpleFoam",)),
    "org11": Edition(
        "incompressibleFluid/motorBike",
        "surfaceFeatures",
        ("potentialFoam",),
        ("foamRun", "-solver", "incompressibleFluid"),
    ),
}
"""Editions by the parameter `edition`; openfoam.org's version 11 made simpleFoam a module of foamRun."""

HEAVY_INTERVAL = 2
"""Steps between two writes of heavy output."""

_TUTORIAL_CELLS = 353_767
_TUTORIAL_BACKGROUND = (20, 8, 8)


_MESH = re.compile(r"([1-9][0-9]{0,4})x([1-9][0-9]{0,4})x([1-9][0-9]{0,4})")


def background(case: Case) -> tuple[int, int, int] | None:
    """Return the cells of the background mesh of `case` in x, y and z; None if its parameter is no mesh."""
    text = str(case.parameters["background_mesh"])
    if not text:
        return background_cells(int(case.parameters["cells"]))
    match = _MESH.fullmatch(text)
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def total_cells(case: Case) -> int:
    """Return about how many cells the refined mesh of `case` has (see background_cells)."""
    mesh = background(case)
    if mesh is None or not case.parameters["background_mesh"]:
        return int(case.parameters["cells"])
    scale: float = (math.prod(mesh) / math.prod(_TUTORIAL_BACKGROUND)) ** (2 / 3)
    return round(_TUTORIAL_CELLS * scale)


def background_cells(cells: int) -> tuple[int, int, int]:
    """Return the number of cells of the background mesh in x, y and z for a mesh of about `cells` cells.

    Refinement follows the surface, so the number of cells grows with the square of the background's
    resolution: a background of 100 × 40 × 40 cells gives 8.6 million cells
    (https://develop.openfoam.com/committees/hpc, HPC_motorbike/Small).
    """
    factor = math.sqrt(cells / _TUTORIAL_CELLS)
    x, y, z = (max(round(count * factor), 2) for count in _TUTORIAL_BACKGROUND)
    return x, y, z


def parts(ranks: int) -> tuple[int, int, int]:
    """Return `ranks` as a product of three factors that are as equal as possible, largest first."""
    shapes = (
        (ranks // (y * z), y, z)
        for z in range(1, math.isqrt(ranks) + 1)
        if ranks % z == 0
        for y in range(z, ranks // z + 1)
        if ranks // z % y == 0 and ranks // (y * z) >= y
    )
    return min(shapes, key=lambda shape: (sum(shape), shape))


def changed(name: str, files: dict[str, str]) -> Stage:
    """Return the stage that replaces files of the tutorial by `files`.

    The new files are first written to a folder of their own, because input files are written before any stage
    runs.
    """
    folder = f"changes/{name}"
    waiting = {f"{folder}/{path}": text for path, text in files.items()}
    return serial(name, "cp", "--recursive", "-T", folder, ".", files=waiting)


def control_dict(case: Case) -> str:
    """Return system/controlDict: the number of steps, and how often all fields are written."""
    iterations = int(case.parameters["iterations"])
    interval = HEAVY_INTERVAL if is_heavy(case) else iterations + 1
    return _dictionary("controlDict", _control(iterations, interval))


def decompose_par_dict(ranks: int, method: str = "hierarchical") -> str:
    """Return system/decomposeParDict, which splits the mesh for `ranks` by one of DECOMPOSITIONS."""
    return _dictionary("decomposeParDict", _decomposition(ranks, method))


def mesh_edits(mesh: tuple[int, int, int], cells: int) -> Stage:
    """Return the stage that sets the background mesh and raises snappyHexMesh's limits above `cells`."""
    x, y, z = mesh
    return edited(
        "resolution",
        ("system/blockMeshDict", "system/snappyHexMeshDict"),
        rf"s/\([0-9]+ +[0-9]+ +[0-9]+\)( +simpleGrading)/({x} {y} {z})\1/",
        rf"s/^( *maxLocalCells) .*/\1 {max(2 * cells, 100_000)};/",
        rf"s/^( *maxGlobalCells) .*/\1 {max(4 * cells, 2_000_000)};/",
    )


def _control(iterations: int, interval: int) -> str:
    return f"""\
application     simpleFoam;
solver          incompressibleFluid;
startFrom       startTime;
startTime       0;
stopAt          endTime;
endTime         {iterations};
deltaT          1;
writeControl    timeStep;
writeInterval   {interval};
purgeWrite      0;
writeFormat     binary;
writePrecision  6;
writeCompression off;
timeFormat      general;
timePrecision   6;
runTimeModifiable false;
"""


DECOMPOSITIONS = ("hierarchical", "scotch", "simple")
"""Methods of decomposePar: boxes of equal numbers of cells, a graph's partition, and boxes of equal width."""


def _decomposition(ranks: int, method: str) -> str:
    if method == "scotch":
        return f"numberOfSubdomains {ranks};\nmethod          scotch;\n"
    x, y, z = parts(ranks)
    order = "    order       xyz;\n" if method == "hierarchical" else ""
    return f"""\
numberOfSubdomains {ranks};
method          {method};
{method}Coeffs
{{
    n           ({x} {y} {z});
    delta       0.001;
{order}}}
"""


def _dictionary(name: str, text: str) -> str:
    head = ("version 2.0;", "format ascii;", "class dictionary;", f"object {name};")
    return "FoamFile\n{\n" + "".join(f"    {entry}\n" for entry in head) + "}\n\n" + text
