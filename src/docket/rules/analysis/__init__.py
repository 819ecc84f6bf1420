"""What can be found in the record of a run: judgements, made from it and no part of it."""
