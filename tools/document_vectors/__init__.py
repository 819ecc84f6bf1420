"""The documents of the vectors, typed by hand from the specification's pages; nothing of docket is imported."""
