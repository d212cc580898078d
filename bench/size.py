"""Print the size of the code in lines: `python -m bench.size`. Blank lines and docstrings count too.

The *core* is the code that takes a study from its YAML to a verdict, without plug-ins and pages.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median

SOURCES = Path(__file__).parents[1] / "src" / "tare"
CORE = ("core", "config", "plan", "execution", "storage", "stats", "analysis")
MOST_LINES = 400


def lines_of(folder: Path) -> dict[Path, int]:
    """Return the number of lines of each Python file below `folder`."""
    return {path: len(path.read_text(encoding="utf-8").splitlines()) for path in sorted(folder.rglob("*.py"))}


def main() -> None:
    """Print a row for each package, and the totals with their goals."""
    everything = lines_of(SOURCES)
    print(f"{'package':<12}{'files':>8}{'lines':>10}")
    for folder in sorted(path for path in SOURCES.iterdir() if (path / "__init__.py").exists()):
        counts = lines_of(folder)
        print(f"{folder.name:<12}{len(counts):>8}{sum(counts.values()):>10,}")
    core = {path: n for path, n in everything.items() if path.relative_to(SOURCES).parts[0] in CORE}
    print(f"\n{'core':<28}{sum(core.values()):>10,}  goal 12,000")
    print(f"{'everything':<28}{sum(everything.values()):>10,}  goal 45,000")
    print(f"{'median file':<28}{median(everything.values()):>10,.0f}  goal 110")
    long = {path: n for path, n in everything.items() if n > MOST_LINES}
    print(f"{f'files over {MOST_LINES} lines':<28}{len(long):>10}  goal 0")
    for path, n in sorted(long.items(), key=lambda item: -item[1]):
        print(f"  {path.relative_to(SOURCES)} {n}")


if __name__ == "__main__":
    main()
