"""The kinds of values in files: one definition for the decoder and for the JSON Schema.

``x-also`` allows a second JSON type in the schema: a fraction may be a number, or text with ``%``.
``x-single`` allows one item in place of a list.
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

Mtu = Annotated[int, Meta(ge=576, le=65535)]
"""The size of the largest packet of a network, in bytes."""


def _quantity(example: str, dimension: Dimension) -> Meta:
    """Return the annotation of a number above 0 that may be written with a unit."""
    return Meta(
        gt=0,
        examples=[example],
        extra={"dimension": dimension},
        extra_json_schema={"x-also": "string"},
    )


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

Seconds = Annotated[float, _quantity("120 s", Dimension.SECONDS)]
Bytes = Annotated[int, _quantity("128GiB", Dimension.BYTES)]
BitRate = Annotated[float, _quantity("1 Gbit/s", Dimension.BITS_PER_SECOND)]
ByteRate = Annotated[float, _quantity("204 GB/s", Dimension.BYTES_PER_SECOND)]
FlopRate = Annotated[float, _quantity("2.5 Tflop/s", Dimension.FLOPS)]

Words = Annotated[tuple[Word, ...], Meta(extra={"single": True}, extra_json_schema={"x-single": True})]
"""Texts; a file may give one text in place of a list."""

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
