"""Developers' scripts."""
