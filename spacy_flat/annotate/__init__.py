"""Annotation of large corpora in shards, in this process or with Ray. Imports pyarrow."""
