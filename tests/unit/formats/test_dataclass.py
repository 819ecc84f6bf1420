"""Classes whose methods are made when they are used, against the same classes as the library makes them."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
import typing
from typing import Any, ClassVar

import pytest

from docket.formats import dataclass as light

SHAPES = [
    {"frozen": True, "slots": True, "kw_only": True},
    {"frozen": True, "slots": True},
    {"slots": True},
    {"frozen": True, "slots": True, "kw_only": True, "order": True},
]


def made_by(maker: Any, arguments: dict[str, bool]) -> Any:
    """The same class by either."""

    @maker.dataclass(**arguments)
    class Point:
        """A point."""

        x: int
        y: str = "y"
        more: list[int] = maker.field(default_factory=list)
        secret: str = maker.field(default="s", repr=False, metadata={"kind": "secret"})
        note: str = maker.field(default="n", compare=False)
        KIND: ClassVar[str] = "point"

        @property
        def both(self) -> str:
            return f"{self.x}{self.y}"

    return Point


@pytest.fixture(params=SHAPES, ids="-".join)
def pair(request) -> tuple[Any, Any]:
    return made_by(light, request.param), made_by(dataclasses, request.param)


def told(cls: Any) -> list[object]:
    """What can be seen of a class and of some of its instances."""
    one, same, other = cls(x=1), cls(x=1, y="y", more=[], note="other"), cls(x=2, y="z", more=[3], secret="t")
    found: list[object] = [repr(one), repr(other), one == same, one == other, one != other, one == 1, one.both]
    found += [
        [
            (item.name, item.type, item.kw_only, item.repr, item.compare, dict(item.metadata))
            for item in dataclasses.fields(cls)
        ]
    ]
    found += [dataclasses.is_dataclass(one), one == cls(x=1, secret="t"), other.secret, same.note]
    found += [dataclasses.asdict(other), dataclasses.astuple(other), repr(dataclasses.replace(one, x=5))]
    found += [cls.__match_args__, cls.__slots__, cls.KIND, cls.__doc__, cls.__name__, cls.__qualname__]
    found += [inspect.signature(cls).parameters.keys(), typing.get_type_hints(cls), repr(copy.copy(other))]
    found += [repr(copy.deepcopy(other)), one.more is not same.more, cls.__dataclass_params__.frozen]
    for attempt in (
        cls, lambda: cls(x=1, z=1), lambda: cls(1), lambda: setattr(one, "x", 3), lambda: delattr(other, "y"),
        lambda: setattr(one, "new", 3), lambda: hash(one), lambda: one < other, lambda: one >= other,
        lambda: one <= same, lambda: one > same, lambda: one < 1, lambda: one <= 1, lambda: one > 1, lambda: one >= 1,
        lambda: dataclasses.replace(one, z=1),
    ):  # fmt: skip
        try:
            found.append(attempt() is not None or repr(one))
        except Exception as error:
            found.append(type(error))
    return found


def test_it_behaves_as_the_library_s(pair):
    ours, theirs = pair
    # The library refuses an unknown name of a frozen class by a call to super, which fails for a class with slots.
    odd = [(one, other) for one, other in zip(told(ours), told(theirs), strict=True) if one != other]
    refusals = {TypeError, dataclasses.FrozenInstanceError, AttributeError}
    assert all(one in refusals and other in refusals for one, other in odd), odd


@pytest.mark.parametrize("maker", [light, dataclasses])
def test_equal_ones_have_one_hash(maker):
    for shape in SHAPES[:2]:

        @maker.dataclass(**shape)
        class Name:
            text: str
            note: str = maker.field(default="", compare=False)

        assert {Name(text="a"), Name(text="a", note="n"), Name(text="b")} == {Name(text="a"), Name(text="b")}

        @maker.dataclass(**shape)
        class Folded:  # noqa: PLW1641 - what is compared here
            text: str

            def __eq__(self, other: object) -> bool:
                return isinstance(other, Folded) and other.text.lower() == self.text.lower()

        assert Folded(text="a") == Folded(text="A")
        assert hash(Folded(text="a")) in (hash("a"), hash(("a",)))

        @maker.dataclass(**shape)
        class Fixed:
            text: str

            def __hash__(self) -> int:
                return 7

        assert hash(Fixed(text="a")) == 7


@pytest.mark.parametrize("maker", [light, dataclasses])
def test_a_field_may_be_left_to_what_comes_after(maker):
    @maker.dataclass(frozen=True, slots=True, kw_only=True)
    class Names:
        words: tuple[str, ...]
        known: frozenset[str] = maker.field(init=False, repr=False, compare=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "known", frozenset(self.words))

    one = Names(words=("a", "b"))
    assert (one.known, light.replace(one, words=("c",)).known) == ({"a", "b"}, {"c"})
    assert (one == Names(words=("a", "b")), repr(one)[-18:]) == (True, "(words=('a', 'b'))")
    assert [item.init for item in dataclasses.fields(Names)] == [True, False]
    with pytest.raises(TypeError):
        Names(words=(), known=frozenset())


def test_what_is_said_of_fields_is_told():
    @light.dataclass(frozen=True, slots=True)
    class Section:
        cap: int = light.field(default=3, metadata={"kind": "whole"})
        name: str = light.field(default="", metadata={"kind": "text"})

    assert list(light.described_fields(Section)) == [("cap", 3, {"kind": "whole"}), ("name", "", {"kind": "text"})]


@light.dataclass(frozen=True, slots=True)
class Pickled:
    """One that is found by its name."""

    x: int
    y: str = "y"

    def __post_init__(self) -> None:
        if self.x < 0:
            raise ValueError("x")


@light.dataclass(frozen=True, slots=True)
class Nothing:
    """One without a field, and with words of its own."""

    def __repr__(self) -> str:
        return "nothing"


@light.dataclass(frozen=True, slots=True, kw_only=True)
class Bare:
    """One without a field."""


def test_it_is_pickled_checked_and_without_a_field_as_well():
    assert pickle.loads(pickle.dumps(Pickled(1))) == Pickled(1)  # noqa: S301 - made here
    with pytest.raises(ValueError, match="x"):
        Pickled(-1)
    assert (repr(Nothing()), Nothing() == Nothing(), hash(Nothing()) == hash(Nothing())) == ("nothing", True, True)
    assert repr(Bare()) == "Bare()"
    match Pickled(3, "z"):
        case Pickled(x, y):
            assert (x, y) == (3, "z")


def test_replacing_and_naming_work_on_both(pair):
    for cls in pair:
        assert light.field_names(cls) == ("x", "y", "more", "secret", "note")
        assert repr(light.replace(cls(x=1), y="z")) == repr(cls(x=1, y="z"))
        with pytest.raises(TypeError):
            light.replace(cls(x=1), z=1)


@pytest.mark.parametrize("maker", [light, dataclasses])
def test_a_class_may_have_the_fields_of_another(maker):
    @maker.dataclass(frozen=True, slots=True, kw_only=True)
    class Hit:
        x: int
        y: str = "y"

    @maker.dataclass(frozen=True, slots=True, kw_only=True)
    class Other(Hit):
        KIND: ClassVar[str] = "other"

    assert light.field_names(Other) == ("x", "y")
    assert [item.name for item in dataclasses.fields(Other)] == ["x", "y"]
    assert (Other(x=1) == Other(x=1, y="y"), Other(x=1) == Hit(x=1), light.is_dataclass(Other(x=1))) == (
        True,
        False,
        True,
    )
    assert repr(Other(x=1)) == f"{test_a_class_may_have_the_fields_of_another.__name__}.<locals>.Other(x=1, y='y')"
    assert light.replace(Other(x=1), y="z") == Other(x=1, y="z")
    assert isinstance(Other(x=1), Hit)
    with pytest.raises(dataclasses.FrozenInstanceError):
        Other(x=1).x = 2


def test_what_it_does_not_take_it_refuses():
    with pytest.raises(TypeError, match="only classes with slots"):
        light.dataclass(slots=False)
    with pytest.raises(TypeError, match="inherits fields"):

        @light.dataclass(frozen=True, slots=True)
        class Lower(Pickled):
            z: int = 0

    with pytest.raises(TypeError, match="checks fields that it inherits"):

        @light.dataclass(frozen=True, slots=True)
        class Stricter(Pickled):
            def __post_init__(self) -> None:
                raise ValueError

    with pytest.raises(TypeError, match="told kw_only"):
        light.field(kw_only=True)
    with pytest.raises(TypeError, match="not for __init__"):

        @light.dataclass(frozen=True, slots=True)
        class Filled:
            z: int = light.field(default=0, init=False)


def test_the_library_is_not_loaded_for_it():
    script = (
        "import sys\nfrom docket.formats.dataclass import dataclass, replace\n"
        "@dataclass(frozen=True, slots=True)\nclass A:\n    x: 'int'\n    y: 'int' = 2\n"
        "assert replace(A(1), x=3) == A(3) and len({A(1), A(1)}) == 1 and repr(A(1)) == 'A(x=1, y=2)'\n"
        "print('dataclasses' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{script}"],
                          capture_output=True, text=True, check=True)  # fmt: skip
    assert done.stdout == "False\n"


def filled(cls: Any, **values: object) -> Any:
    """An instance that was made by the blank of its class."""
    blank = light.blank_of(cls)
    made = blank.cls()
    for name, value in (blank.defaults | values).items():
        setattr(made, name, value)
    made.__class__ = cls
    return made


def test_an_instance_of_a_blank_is_as_one_that_the_class_makes():
    @light.dataclass(frozen=True, slots=True, kw_only=True)
    class Named:
        KIND: ClassVar[str] = "named"
        x: int
        y: str | None = None

    made = filled(Named, x=1)
    assert (made, repr(made), hash(made), type(made)) == (Named(x=1), repr(Named(x=1)), hash(Named(x=1)), Named)
    assert filled(Named, x=1, y="z") == Named(x=1, y="z") != made
    with pytest.raises(AttributeError):
        made.x = 2


def test_a_class_of_which_more_is_said_or_that_another_made_has_no_blank():
    @light.dataclass(frozen=True, slots=True)
    class Below(Pickled):
        """The same fields."""

    @light.dataclass(frozen=True, slots=True)
    class Left:
        z: int = light.field(init=False)

    others = made_by(light, SHAPES[0]), made_by(dataclasses, SHAPES[0]), Left, Below, int
    assert [light.blank_of(cls) for cls in others] == [None] * 5
