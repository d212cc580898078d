"""The notebook and the blocks of docs/python.md run, and answer what they say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "python.md").read_text()
NOTEBOOK = json.loads((DOCS / "notebook.ipynb").read_text())


def run(code: str, where: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=where, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_blocks_of_the_page_run_in_its_order(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 4
    check = (
        "\nassert plan.n_runs == 9\nassert campaign.progress == (9, 9)"
        "\nassert tare.open_campaign('campaigns/mended').figures['fom'][0] == 'seconds'"
        "\nprint(campaign.compare()[1].verdict)"
    )
    said = run("".join(blocks) + check, tmp_path)
    assert "[9/9] block 3  copy block=" in said
    assert said.splitlines()[-1] in {"worse", "undecided"}


def test_the_notebook_goes_from_its_question_to_a_chart(tmp_path: Path) -> None:
    cells = ["".join(one["source"]) for one in NOTEBOOK["cells"] if one["cell_type"] == "code"]
    shown = [f"{cell[: cell.rindex(last)]}print({last})" for cell in cells if (last := expression(cell))]
    assert len(shown) == len(cells)
    check = "\nassert campaign.progress == (15, 15)\nassert answer.height == 2\nassert levels.height == 3"
    said = run("\n".join(shown) + check, tmp_path)
    assert "[15/15] block 5  write piece=" in said
    assert "alt.ConcatChart" in said


def expression(cell: str) -> str:
    """Return the expression at the end of a cell, which a notebook shows."""
    import ast

    last = ast.parse(cell).body[-1]
    return ast.get_source_segment(cell, last) or "" if isinstance(last, ast.Expr) else ""


def test_the_notebook_is_kept_without_outputs() -> None:
    code = [one for one in NOTEBOOK["cells"] if one["cell_type"] == "code"]
    assert (NOTEBOOK["nbformat"], len(code)) == (4, 7)
    assert all(not one["outputs"] and one["execution_count"] is None for one in code)
