"""How is the pinned harness found, checked and started, before anything is installed?

Everything here needs the standard library only: it runs from a bare checkout, on the machine's own Python.
"""
