"""Training that can be interrupted and resumed."""
