"""Asking a live target and keeping exactly what it said. Nothing here can be reached from the gate."""
