"""Parsers of the transport reports of MPI libraries: one module for each library.

All modules in this folder are used. Each has:

- `LIBRARY`: the name of the library.
- `ASKED_BY`: the environment variables without which it reports nothing. Launchers set them.
- ``parse(line)``: yields a TransportReport for each fact in a line.
- ``is_chatter(line)``: whether the line was printed only because the library was asked to report.

Other packages register such a module under the group ``tare.transport_reports``.
"""
