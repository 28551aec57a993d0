"""Small pipelines from trained ones."""
