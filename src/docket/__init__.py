"""docket: a budget that holds, a record anyone can check, changes that can be undone."""

__version__ = "1.0.0a1"
__all__ = ["Session", "SessionOptions", "SessionProblem", "__version__"]


def __getattr__(name: str) -> object:
    """Load what Python agents use when it is first asked for: `docket --version` must not wait for it."""
    if name in ("Session", "SessionOptions", "SessionProblem"):
        # By name, for whatever reads __version__ must not be taken to depend on the surfaces.
        from importlib import import_module  # noqa: PLC0415

        return getattr(import_module("docket.surfaces.sdk.session"), name)
    raise AttributeError(f"module 'docket' has no attribute {name!r}")
