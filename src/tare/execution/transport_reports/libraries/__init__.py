"""What MPI libraries say of their transport: one library a file, and the folder is the list.

Each has `LIBRARY`, its name; `ASKED_BY`, the variables without which it says nothing, which launchers set;
``tell(line)``, which yields a Word for each thing that a line says; and ``is_chatter(line)``, whether the
line is there only because the library was asked. Other packages register such a module under the group
``tare.transport_reports``.
"""
