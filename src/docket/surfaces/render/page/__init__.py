"""A run as one page of HTML: what was recorded of it, its evidence and a verifier, in a file that asks for nothing."""
