"""`python -m docket`."""

import sys

from docket.surfaces.cli.main import main

sys.exit(main())
