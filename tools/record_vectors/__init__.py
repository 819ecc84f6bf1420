"""Records for the vectors: ledgers typed by hand, and an independent fold of them; nothing of docket is imported."""
