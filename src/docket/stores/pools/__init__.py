"""Pools: named budgets that the runs of a machine share. The port is `port`, the machine's own store `sqlite`."""
