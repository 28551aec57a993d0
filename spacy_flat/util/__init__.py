"""Helpers without a room of their own: files, options, messages."""
