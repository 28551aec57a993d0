"""Annotating more texts than one process can: shards of the input, and actors that annotate them.

These modules import pyarrow, and `run` imports Ray. They are imported where a command runs.
"""
