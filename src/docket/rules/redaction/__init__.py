"""A copy of a record that hides something, and is a record all the same."""
