"""Helpers for files, options and messages."""
