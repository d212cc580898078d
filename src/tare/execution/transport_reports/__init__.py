"""What MPI libraries themselves say of the transport that they chose, in their own verbose words.

One library a file: each reads a line by itself, for ranks write theirs amid each other's.
"""
