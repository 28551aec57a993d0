"""Training of pipelines that can be interrupted and resumed, and shared by several processes."""
