"""Are two texts alike? `re2_similarity`: RE2 (Yang et al., ACL 2019)."""
