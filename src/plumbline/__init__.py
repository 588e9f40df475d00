"""Plumbline: a merge gate for question-answering and RAG chat systems."""

from plumbline._version import __version__

__all__ = ["__version__"]
