"""What holds for every test: none is judged by how long it takes, for the machine may be busy with others."""

from hypothesis import settings

settings.register_profile("docket", deadline=None)
settings.load_profile("docket")
