"""Ids that both sides of a pair have, before those of their characters or pieces."""

UNKNOWN, START, END = 0, 1, 2
NAMES = 3  # the id of the first placeholder
