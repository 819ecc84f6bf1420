"""How much a pool grants: arithmetic that every store shares.

Rules:
1. A grant beyond the need is a small share of what is left, so that no run sits on what another one needs.
2. Where the need does not fit, all that is left is granted if it is at least of use; else nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from docket.formats.run.pool import Period, PoolAnswer, PoolAsk, PoolLimits

_SHARE_AHEAD = 16


def answer(
    limits: PoolLimits, taken_micros: Mapping[Period, int], *, others_held: int, own: tuple[int, int], ask: PoolAsk
) -> PoolAnswer:
    """Return what a pool answers.

    `taken_micros` is what counts against each period, `others_held` what other runs hold, `own` what this run was
    granted and has taken.
    """
    granted, own_taken = own
    has = max(granted, own_taken)
    micros = {period: limit.micros for period in Period if (limit := limits.of(period)) is not None}
    if not micros:
        return PoolAnswer(granted_micros=max(has, ask.need_micros), limits=limits, tightest=None)
    tightest = min(micros, key=lambda period: micros[period] - taken_micros[period])
    room = max(0, micros[tightest] - taken_micros[tightest] - others_held - (has - own_taken))
    return PoolAnswer(
        granted_micros=has + _extension(ask, has, room),
        limits=limits,
        tightest=tightest,
        limit_micros=micros[tightest],
        taken_micros=taken_micros[tightest],
    )


def _extension(ask: PoolAsk, has: int, room: int) -> int:
    need, least = max(0, ask.need_micros - has), max(0, ask.least_micros - has)
    if need <= room:
        return need + min(ask.ahead_micros, (room - need) // _SHARE_AHEAD)
    return room if least <= room else 0
