from docket.surfaces.sdk.session import Session as Session
from docket.surfaces.sdk.session import SessionOptions as SessionOptions
from docket.surfaces.sdk.session import SessionProblem as SessionProblem

__version__: str
