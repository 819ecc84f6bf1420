"""What a run cost over its time, as SVG: a stepped line of the running sum, the cap as a line, refusals as marks.

Rules:
1. Across is time where the events tell it, else the number of the call. Up is dollars; tokens where a run is capped by
   those alone.
2. The cap is drawn where it is within reach of what was spent (CAP_IN_SIGHT times); beyond, the line would be flat,
   and the words below say where the cap is.
3. Long runs are thinned to MOST_STEPS steps, each standing for the last call in its place; the last sum is the run's.
4. Two drawings are made, for wide and for narrow pages: text in a drawing does not grow with it. Where no call was
   billed or refused there is none, and words say so.

It computes in floats: what it draws is for the eye, the figures stand in the tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from docket.formats.amount import MICROS_PER_USD, Usd
from docket.formats.dataclass import dataclass
from docket.rules.analysis.told import BILLED, REFUSED, Call
from docket.surfaces.render.figures import plural
from docket.surfaces.render.page.html import Html, element, joined

MOST_STEPS = 600
CAP_IN_SIGHT = 4
_TICKS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """After one call: where it stands across, what is spent by then, and what to say of it."""

    across: float
    spent: int
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """What is drawn. `by_time`: across is milliseconds, else calls. `cap` and sums are in micro-dollars or tokens."""

    points: tuple[Point, ...]
    refusals: tuple[float, ...]
    by_time: bool
    in_tokens: bool
    end: float
    cap: int | None = None

    @property
    def spent(self) -> int:
        """The last sum."""
        return self.points[-1].spent if self.points else 0

    @property
    def shows_cap(self) -> bool:
        """Whether the cap is within sight."""
        return self.cap is not None and self.cap <= max(1, self.spent) * CAP_IN_SIGHT


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """A drawing's size and margins, in its own units, and how much of the curve fits into it."""

    name: str
    width: int
    height: int
    left: int
    right: int = 16
    top: int = 30
    bottom: int = 48

    def x(self, share: float) -> float:
        return round(self.left + share * (self.width - self.left - self.right), 1)

    def y(self, share: float) -> float:
        return round(self.height - self.bottom - share * (self.height - self.top - self.bottom), 1)


_FRAMES = (_Frame(name="wide", width=960, height=300, left=84), _Frame(name="narrow", width=380, height=260, left=78))


def curve_of(calls: Sequence[Call], *, lasted_ms: int | None, cap: int | None, in_tokens: bool) -> Curve:
    """Return the running sum over a run's calls in their order."""
    drawn = [call for call in calls if call.kind in (BILLED, REFUSED)]
    by_time = bool(drawn) and all(call.elapsed_ms is not None for call in drawn)
    points, refusals, spent, counted = [], [], 0, 0
    for place, call in enumerate(drawn, 1):
        across = float(call.elapsed_ms or 0) if by_time else float(place)
        if call.kind == REFUSED:
            refusals.append(across)
            continue
        counted += 1
        amount = call.tokens[0] + call.tokens[2] if in_tokens else call.micros
        spent += amount
        words = f"call {call.number or counted}: {_amount(amount, in_tokens)} for {call.model or 'a model'}"
        points.append(Point(across=across, spent=spent, words=f"{words}, {_amount(spent, in_tokens)} by then"))
    last = max([point.across for point in points] + refusals, default=0.0)
    end = max(last, float(lasted_ms or 0)) if by_time else last
    return Curve(
        points=tuple(points),
        refusals=tuple(refusals),
        by_time=by_time,
        in_tokens=in_tokens,
        end=end or 1.0,
        cap=cap,
    )


def chart(curve: Curve) -> Html:
    """Return the figure: both drawings, what they show in words, and a line for who points into them."""
    if not curve.points and not curve.refusals:
        return element("p", in_words(curve), class_="muted")
    points = thinned(curve.points)
    highest = max(curve.spent, curve.cap or 0 if curve.shows_cap else 0, 1)
    drawings = joined(_drawing(curve, points, highest, frame) for frame in _FRAMES)
    hint = "Point at the chart, or focus it and use the arrow keys, to read single calls."
    read = element("output", hint, id="chart-read", class_="muted scripted", hidden=True)
    return element(
        "div", element("figure", drawings, element("figcaption", in_words(curve))), read, class_="chart", id="chart",
        tabindex="0", role="group", aria_label="Chart; left and right arrow keys go from call to call",
    )  # fmt: skip


def chart_data(curve: Curve) -> dict[str, object]:
    """Return for the page's script where the points stand, in shares of the drawing, and what to say of them."""
    highest = max(curve.spent, curve.cap or 0 if curve.shows_cap else 0, 1) * 1.05
    frames = {frame.name: [frame.x(0), frame.x(1), frame.y(0), frame.y(1)] for frame in _FRAMES}
    points = [
        [round(point.across / curve.end, 4), round(point.spent / highest, 4), point.words]
        for point in thinned(curve.points)
    ]
    return {"frames": frames, "points": points}


def in_words(curve: Curve) -> str:
    """Return what the drawing shows, for who does not see it."""
    if not curve.points:
        return "No call was billed."
    billed = plural(len(curve.points), "billed call")
    said = f"{_amount(curve.spent, curve.in_tokens)} in {billed}"
    if curve.cap is not None:
        said += f", the cap at {_amount(curve.cap, curve.in_tokens)}"
        said += "" if curve.shows_cap else " (far above, not drawn)"
    if curve.refusals:
        said += f"; {plural(len(curve.refusals), 'call')} refused, marked ▲"
    return f"{said}."


def thinned(points: Sequence[Point], most: int = MOST_STEPS) -> tuple[Point, ...]:
    """Return at most `most` points, the last of each stretch."""
    if len(points) <= most:
        return tuple(points)
    return tuple(points[(place + 1) * len(points) // most - 1] for place in range(most))


def _drawing(curve: Curve, points: Sequence[Point], highest: int, frame: _Frame) -> Html:
    top = highest * 1.05
    steps = [(frame.x(point.across / curve.end), frame.y(point.spent / top)) for point in points]
    parts = [*_across(curve, frame), *_up(curve, highest, frame)]
    if steps:
        line = f"M{frame.x(0)} {frame.y(0)}" + "".join(f"H{x}V{y}" for x, y in steps) + f"H{frame.x(1)}"
        parts.append(element("path", d=f"{line}V{frame.y(0)}Z", class_="area"))
        parts.append(element("path", d=line, class_="sum"))
    if len(steps) <= MOST_STEPS // 10:
        parts += [element("circle", cx=str(x), cy=str(y), r="3", class_="dot") for x, y in steps]
    if curve.shows_cap and curve.cap is not None:
        y = frame.y(curve.cap / top)
        parts.append(element("line", x1=str(frame.x(0)), x2=str(frame.x(1)), y1=str(y), y2=str(y), class_="cap"))
        words = f"cap {_amount(curve.cap, curve.in_tokens)}"
        parts.append(_text(words, frame.x(0) + 4, y - 6, "start", "cap-name"))
    parts += [_mark(frame.x(across / curve.end), frame.y(0)) for across in _spread(curve.refusals)]
    parts.append(element("line", class_="pointer", x1="0", x2="0", y1=str(frame.y(1)), y2=str(frame.y(0))))
    return element(
        "svg", parts, class_=frame.name, viewBox=f"0 0 {frame.width} {frame.height}", role="img",
        aria_label=in_words(curve),
    )  # fmt: skip


def _spread(refusals: Sequence[float]) -> Sequence[float]:
    return refusals if len(refusals) <= MOST_STEPS else refusals[:: len(refusals) // MOST_STEPS]


def _mark(x: float, y: float) -> Html:
    return element("path", d=f"M{x} {y - 9}l5 9h-10z", class_="refused")


def _text(words: str, x: float, y: float, anchor: str, class_: str) -> Html:
    return element("text", words, x=str(x), y=str(round(y, 1)), text_anchor=anchor, class_=class_)


def _up(curve: Curve, highest: int, frame: _Frame) -> Iterator[Html]:
    yield _text("tokens, running sum" if curve.in_tokens else "dollars, running sum", 0, 14, "start", "axis")
    marks = ticks(highest)
    for value, words in zip(marks, _alike(marks, curve.in_tokens), strict=True):
        y = frame.y(value / (highest * 1.05))
        yield element("line", x1=str(frame.x(0)), x2=str(frame.x(1)), y1=str(y), y2=str(y), class_="grid")
        yield _text(words, frame.left - 8, y + 4, "end", "tick")


def _across(curve: Curve, frame: _Frame) -> Iterator[Html]:
    y = frame.height - frame.bottom + 18
    for value in time_ticks(curve.end) if curve.by_time else ticks(round(curve.end)):
        x = frame.x(value / curve.end)
        anchor = "start" if not value else "end" if x > frame.width - frame.right - 30 else "middle"
        yield _text(_span(value) if curve.by_time else f"{value:,}", x, y, anchor, "tick")
    words = "time since the run began" if curve.by_time else "calls, in their order"
    yield _text(words, frame.x(1), frame.height - 8, "end", "axis")


def ticks(highest: int, about: int = _TICKS) -> tuple[int, ...]:
    """Return round numbers from 0 to `highest`, about so many."""
    step, unit = 1, 1
    while highest / step > about:
        for factor in (1, 2, 5, 10):
            step = unit * factor
            if highest / step <= about:
                break
        unit *= 10
    return tuple(range(0, highest + 1, step))


_SPANS = (
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000,
    900_000, 1_800_000, 3_600_000, 7_200_000, 14_400_000, 21_600_000, 43_200_000, 86_400_000,
)  # fmt: skip


def time_ticks(end_ms: float, about: int = _TICKS) -> tuple[int, ...]:
    """Return round instants from 0 to `end_ms`, in milliseconds, about so many."""
    step = next((span for span in _SPANS if end_ms / span <= about), 0)
    if not step:
        days = ticks(int(end_ms) // _SPANS[-1], about)
        return tuple(day * _SPANS[-1] for day in days)
    return tuple(range(0, int(end_ms) + 1, step))


def _span(value_ms: int) -> str:
    seconds, rest = divmod(value_ms, 1000)
    if not value_ms:
        return "0 s"
    if rest:
        return f"{value_ms} ms" if not seconds else f"{value_ms / 1000:g} s"
    minutes, left = divmod(seconds, 60)
    if not minutes:
        return f"{seconds} s"
    hours, minutes = divmod(minutes, 60)
    if not hours:
        return f"{minutes} min" + (f" {left} s" if left else "")
    return f"{hours} h" + (f" {minutes} min" if minutes else "")


def _alike(values: Sequence[int], in_tokens: bool) -> list[str]:  # noqa: FBT001 - which unit
    """Return amounts with as many decimals each as all of them need, at least two where one has any."""
    if in_tokens:
        return [f"{value:,}" for value in values]
    needed = max((len(f"{value % MICROS_PER_USD:06}".rstrip("0")) for value in values), default=0)
    decimals = max(2, needed) if needed else 0
    whole = [divmod(value, MICROS_PER_USD) for value in values]
    return [f"${dollars:,}" + (f".{f'{part:06}'[:decimals]}" if decimals else "") for dollars, part in whole]


def _amount(value: int, in_tokens: bool) -> str:  # noqa: FBT001 - which unit
    if in_tokens:
        return f"{value:,} tokens"
    return f"${value // MICROS_PER_USD:,}" if value and not value % MICROS_PER_USD else f"${Usd(value)}"


__all__ = ["Curve", "Point", "chart", "chart_data", "curve_of", "in_words", "thinned", "ticks", "time_ticks"]
