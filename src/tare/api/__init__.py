"""The Python interface of Tare: open campaigns, plan studies and run them.

`import tare` offers what this package defines, and imports none of it before it is used. docs/python.md says
what of it is promised to stay.
"""
