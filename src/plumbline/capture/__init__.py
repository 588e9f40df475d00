"""Rendering a page in a browser and keeping what it showed."""
