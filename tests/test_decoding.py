"""What is decoded in several threads at once crashes none of them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import tare

SOURCES = Path(tare.__file__).parent
IN_THREADS = """
import sys, threading, types
from tare.core.decoding import convert, decode_json

FORMS = "from __future__ import annotations; import msgspec\\nclass Form0(msgspec.Struct): value: int = 0\\n"
for n in range(1, 30):
    FORMS += f"class Form{n}(msgspec.Struct):\\n"
    FORMS += f"  one: Form{n - 1} | None = None\\n  more: tuple[Form{n - 1}, ...] = ()\\n"

sys.setswitchinterval(1e-6)
for turn in range(100):
    module = sys.modules[f"forms{turn}"] = types.ModuleType(f"forms{turn}")
    exec(FORMS, module.__dict__)
    start = threading.Barrier(4)

    def decode(number):
        start.wait()
        if number % 2:
            convert({"one": {}}, module.Form29)
        else:
            decode_json('{"one": {}}', type=[module.Form29, module.Form28][number // 2])

    threads = [threading.Thread(target=decode, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_four_threads_that_decode_a_type_for_the_first_time_all_succeed() -> None:
    """With msgspec alone, this ends by SIGSEGV within the first turns."""
    done = subprocess.run([sys.executable, "-c", IN_THREADS], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_other_module_has_msgspec_learn_a_type_while_programs_run() -> None:
    """Decoders that are made when a module is imported are made by one thread."""
    late = re.compile(
        r"^ .*\bmsgspec\.(convert|json\.Decoder)\(|msgspec\.json\.decode\([^\n]*\btype=", re.MULTILINE
    )
    found = {path.name for path in SOURCES.rglob("*.py") if late.search(path.read_text())}
    assert found == {"decoding.py"}
