"""Runs in pools: how one enters and leaves (`entry`), and what is done about one that died (`reap`)."""
