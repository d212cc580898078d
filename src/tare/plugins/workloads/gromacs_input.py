"""GROMACS input for a box of water: topology and run parameters (.mdp)."""

from __future__ import annotations

_WATERS_PER_NM3 = 33.0
"""Liquid water at 300 K has 33.4 molecules per nm³; gmx solvate leaves some out where box edges meet."""

_FRAME_STEPS = 10
"""Steps between two frames of heavy output."""


def box_edge_nm(kiloatoms: float) -> float:
    """Return the edge in nm of a cube with about `kiloatoms` thousand atoms of water."""
    waters = kiloatoms * 1000 / 3
    return float((waters / _WATERS_PER_NM3) ** (1 / 3))


def topology() -> str:
    """Return the system topology; gmx solvate appends the number of molecules to it."""
    return """\
#include "oplsaa.ff/forcefield.itp"
#include "oplsaa.ff/spce.itp"

[ system ]
water

[ molecules ]
"""


def minimisation(electrostatics: str) -> str:
    """Return the parameters of a short steepest descent, which removes close contacts at the box edges."""
    return f"integrator = steep\nnsteps = 100\nemtol = 1000\nnstlog = 10\n{_forces(electrostatics)}"


def simulation(electrostatics: str, *, is_heavy: bool) -> str:
    """Return the parameters of the simulation; mdrun -nsteps sets its length."""
    return f"""\
integrator = md
dt = 0.002
nsteps = -1
{_forces(electrostatics)}tcoupl = v-rescale
tc-grps = System
tau-t = 0.5
ref-t = 300
gen-vel = yes
gen-temp = 300
gen-seed = 1993
nstcalcenergy = 100
nstenergy = 1000
nstlog = 1000
nstxout-compressed = {_FRAME_STEPS if is_heavy else 0}
"""


def _forces(electrostatics: str) -> str:
    method = {
        "pme": "coulombtype = PME\nfourierspacing = 0.12\n",
        "rf": "coulombtype = Reaction-Field\nepsilon-rf = 78\n",
    }
    return f"cutoff-scheme = Verlet\nnstlist = 10\nrcoulomb = 1.0\nrvdw = 1.0\n{method[electrostatics]}"
