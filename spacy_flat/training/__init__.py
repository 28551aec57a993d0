"""Training of pipelines that can be killed and goes on, in one process or in many: what
`python -m spacy flat train` does beyond `spacy train`."""
