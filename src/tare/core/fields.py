"""The kinds of values in files: one definition for the decoder and for the JSON Schema.

``x-also`` allows a second JSON type in the schema: a fraction may be a number, or text with ``%``.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from tare.core.units import Dimension

Scalar = str | int | float | bool

Word = Annotated[str, Meta(min_length=1, extra_json_schema={"x-also": "number"})]
"""Text that may look like a number: ``22.04``, or the value of an environment variable."""

Name = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]*$",
        min_length=1,
        max_length=100,
        extra_json_schema={"x-also": "number"},
        extra={
            "cure": "is not a safe name; use letters, digits and . _ + -, and start with a letter or a digit"
        },
    ),
]
"""A name that is safe as a folder, an argument and a cell of a table."""

Count = Annotated[int, Meta(ge=1, examples=[4])]

Fraction = Annotated[
    float,
    Meta(
        ge=0,
        lt=1,
        examples=["2 %"],
        extra={"dimension": Dimension.FRACTION},
        extra_json_schema={"x-also": "string"},
    ),
]

Seconds = Annotated[
    float,
    Meta(
        gt=0,
        examples=["120 s"],
        extra={"dimension": Dimension.SECONDS},
        extra_json_schema={"x-also": "string"},
    ),
]

Bytes = Annotated[
    int,
    Meta(
        gt=0,
        examples=["128GiB"],
        extra={"dimension": Dimension.BYTES},
        extra_json_schema={"x-also": "string"},
    ),
]

BitRate = Annotated[
    float,
    Meta(
        gt=0,
        examples=["1 Gbit/s"],
        extra={"dimension": Dimension.BITS_PER_SECOND},
        extra_json_schema={"x-also": "string"},
    ),
]

ByteRate = Annotated[
    float,
    Meta(
        gt=0,
        examples=["204 GB/s"],
        extra={"dimension": Dimension.BYTES_PER_SECOND},
        extra_json_schema={"x-also": "string"},
    ),
]

FlopRate = Annotated[
    float,
    Meta(
        gt=0,
        examples=["2.5 Tflop/s"],
        extra={"dimension": Dimension.FLOPS},
        extra_json_schema={"x-also": "string"},
    ),
]

Words = Word | list[Word]
"""One text, or a list of them."""

Variables = dict[
    Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
            extra={
                "cure": "cannot name a variable; use letters, digits and _, and do not start with a digit"
            },
        ),
    ],
    Annotated[str, Meta(extra_json_schema={"x-also": "number"})],
]
"""Environment variables (POSIX, Environment Variable Definition)."""

Labels = dict[str, Annotated[str, Meta(extra_json_schema={"x-also": "number"})]]
"""Labels or annotations of Kubernetes."""
