"""docket: a budget that holds, a record anyone can check, changes that can be undone."""

__version__ = "1.0.0a1"
