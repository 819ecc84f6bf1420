"""`dataclasses.dataclass` for what a hook or a run loads: the same classes, whose methods are made when they are used.

A hook is a process of its own, before and after each tool of an agent, and loads half a hundred dataclasses of which it
makes a few; a run loads hundreds. What the library does for each of them when it is defined takes longer than all else
that is loaded (docs/adr/0033).

Rules:
1. What this makes behaves as what the library makes of the same arguments; for type checkers it is the library's. The
   library's own functions (`fields`, `replace`, `asdict`, `is_dataclass`) work on it: what they look at is made by the
   library when they ask.
2. It takes classes with `slots`, all of whose fields are their own or all inherited: none adds to what it inherits or
   checks it anew, none has an InitVar, and a field that is left out of `__init__` has no default.
3. `__init__` is written and compiled with the first instance; the rest needs no code of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from dataclasses import dataclass, field, replace
else:

    def dataclass(
        *, slots: bool, frozen: bool = False, kw_only: bool = False, order: bool = False
    ) -> Callable[[type], type]:
        """Return the decorator; `slots` must be set."""
        if not slots:
            raise TypeError("only classes with slots are made here")
        arguments = {"frozen": frozen, "kw_only": kw_only, "order": order}
        return lambda cls: _made(cls, arguments)

    def field(**told: Any) -> Any:  # noqa: ANN401 - as the library
        """Return what stands for a field of which more is said than its kind."""
        return _Told(**told)

    def replace(instance: Any, /, **changes: Any) -> Any:  # noqa: ANN401 - as the library
        """Return a copy of an instance with other values."""
        cls = type(instance)
        names = cls.__dict__.get(_NAMES)
        if names is None:
            from dataclasses import replace as replaced  # noqa: PLC0415 - the class is the library's own

            return replaced(instance, **changes)
        told = getattr(cls, _TOLD)
        for name in names:
            if name not in changes and told.get(name, _PLAIN).init:
                changes[name] = getattr(instance, name)
        return cls(**changes)


__all__ = ["Blank", "blank_of", "dataclass", "described_fields", "field", "field_names", "is_dataclass", "replace"]

_NAMES = "__docket_fields__"
_TOLD = "__docket_told__"
_MADE_BY_LIBRARY = ("__dataclass_fields__", "__dataclass_params__")


def field_names(cls: type) -> tuple[str, ...]:
    """Return the names of a dataclass's fields, whoever made it, in their order."""
    names: tuple[str, ...] | None = cls.__dict__.get(_NAMES)
    if names is not None:
        return names
    from dataclasses import fields  # noqa: PLC0415 - the class is the library's own

    return tuple(item.name for item in fields(cls))


def described_fields(cls: type) -> Iterator[tuple[str, object, Mapping[str, Any]]]:
    """Yield each field of a class that was made here and says its default and metadata by `field`, in their order."""
    for name in getattr(cls, _NAMES):
        told: _Told = getattr(cls, _TOLD)[name]
        yield name, told.default, told.metadata


def is_dataclass(value: object) -> bool:
    """Whether a value is a dataclass or an instance of one, whoever made it."""
    cls = value if isinstance(value, type) else type(value)
    return _NAMES in cls.__dict__ or hasattr(cls, "__dataclass_fields__")


class Blank(NamedTuple):
    """How instances of a class are made without a call for each value.

    `cls` has the slots of the class, and they may be set. An instance of it whose slots are all filled becomes one of
    the class by its `__class__`, and is then checked by `__post_init__`, if there is one. `defaults` are the values of
    those fields that need not be given.
    """

    cls: type
    defaults: Mapping[str, object]


def blank_of(cls: type) -> Blank | None:
    """Return the blank of a class that was made here and of whose fields only defaults are told; None of others."""
    told: Mapping[str, _Told] | None = cls.__dict__.get(_TOLD)
    if told is None or any(one.make is not None or not one.init for one in told.values()):
        return None
    blank = type(cls)(f"{cls.__name__}Blank", cls.__bases__, {"__slots__": cls.__dict__[_NAMES]})
    return Blank(blank, {name: one.default for name, one in told.items() if one.default is not _NAMES})


class _Told:
    """What is said of a field: its default, or what makes one for each instance, and what it takes part in."""

    __slots__ = ("compare", "default", "init", "make", "metadata", "repr")

    def __init__(
        self,
        *,
        default: object = _NAMES,
        default_factory: Callable[[], object] | None = None,
        **told: Any,  # noqa: ANN401 - as the library
    ) -> None:
        self.default, self.make = default, default_factory
        self.init, self.repr, self.compare = (told.pop(name, True) for name in ("init", "repr", "compare"))
        self.metadata: Mapping[str, Any] = told.pop("metadata", {})
        if told:
            raise TypeError(f"a field that is told {', '.join(told)} is not made here")

    def by_library(self) -> object:
        """Return the same, for the library."""
        from dataclasses import field as field_of_library  # noqa: PLC0415 - hardly any program asks for it

        given: dict[str, Any] = {name: getattr(self, name) for name in ("init", "repr", "compare", "metadata")}
        if self.make is not None:
            given["default_factory"] = self.make
        elif self.default is not _NAMES:
            given["default"] = self.default
        return field_of_library(**given)


_PLAIN = _Told()


class _Later:
    """A member of a class that is made when it is first asked for, and stands in its own place then."""

    __slots__ = ("_make", "_name", "_owner")

    def __init__(self, owner: type, name: str, make: Callable[[], dict[str, Any]]) -> None:
        self._owner, self._name, self._make = owner, name, make

    def __get__(self, instance: object, owner: type) -> Any:  # noqa: ANN401 - whatever is asked for
        made = self._make()
        for name, member in made.items():
            setattr(self._owner, name, member)
        found = made[self._name]
        return found.__get__(instance, owner) if hasattr(found, "__get__") else found


def _made(cls: type, arguments: dict[str, bool]) -> type:
    kinds: dict[str, str] = cls.__dict__.get("__annotations__", {})  # noqa: RUF063 - text, and light
    names = tuple(name for name, kind in kinds.items() if not str(kind).startswith(("ClassVar", "typing.ClassVar")))
    space = {name: value for name, value in cls.__dict__.items() if name not in ("__dict__", "__weakref__")}
    above = next((base for base in cls.__bases__ if is_dataclass(base)), None)
    if above is not None:
        return _of_the_same_fields(cls, above, space, names)
    given = {name: space.pop(name) for name in names if name in space}
    told = {name: value if isinstance(value, _Told) else _Told(default=value) for name, value in given.items()}
    space |= {"__slots__": names, "__qualname__": cls.__qualname__, _NAMES: names, _TOLD: told}
    space["__match_args__"] = () if arguments["kw_only"] else names
    if any(not one.init and (one.make is not None or one.default is not _NAMES) for one in told.values()):
        raise TypeError(f"{cls.__qualname__} has a default that is not for __init__")
    made = type(cls)(cls.__name__, cls.__bases__, space)
    compared = tuple(name for name in names if told.get(name, _PLAIN).compare)
    values = attrgetter(*compared) if compared else _nothing
    members = {**_comparing(values, arguments), "__repr__": _repr, "__getstate__": _state, "__setstate__": _set_state}
    if arguments["frozen"]:
        members |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
    members["__init__"] = _Later(made, "__init__", lambda: {"__init__": _init(made, arguments)})
    for name in _MADE_BY_LIBRARY:
        members[name] = _Later(made, name, lambda: _by_library(made, kinds, arguments))
    own = {name for name, member in cls.__dict__.items() if name != "__hash__" or member is not None}
    for name, member in members.items():
        if name not in own:
            setattr(made, name, member)
    return made


def _of_the_same_fields(cls: type, above: type, space: dict[str, Any], names: tuple[str, ...]) -> type:
    """Return a class that has the fields of the one above it, none of its own, and so all of its methods."""
    if names or _NAMES not in above.__dict__:
        raise TypeError(f"{cls.__qualname__} inherits fields")
    if "__post_init__" in space:
        raise TypeError(f"{cls.__qualname__} checks fields that it inherits")
    space |= {"__slots__": (), "__qualname__": cls.__qualname__, _NAMES: above.__dict__[_NAMES]}
    return type(cls)(cls.__name__, cls.__bases__, space)


def _init(cls: type, arguments: dict[str, bool]) -> object:
    """Return `__init__`: each value goes into its slot, past what refuses to set one."""
    names: tuple[str, ...] = cls.__dict__[_NAMES]
    given: dict[str, Any] = {"_unset": _NAMES}
    parts, lines = [], []
    for name in names:
        told, value = cls.__dict__[_TOLD].get(name, _PLAIN), name
        if not told.init:
            continue
        if told.make is not None:
            given[f"_make_{name}"] = told.make
            value = f"_make_{name}() if {name} is _unset else {name}"
            parts.append(f"{name}=_unset")
        elif told.default is not _NAMES:
            given[f"_default_{name}"] = told.default
            parts.append(f"{name}=_default_{name}")
        else:
            parts.append(name)
        if arguments["frozen"]:
            given[f"_set_{name}"] = cls.__dict__[name].__set__
            lines.append(f"    _set_{name}(self, {value})\n")
        else:
            lines.append(f"    self.{name} = {value}\n")
    if hasattr(cls, "__post_init__"):
        lines.append("    self.__post_init__()\n")
    star = ["*"] if arguments["kw_only"] and names else []
    source = f"def __init__({', '.join(['self', *star, *parts])}):\n{''.join(lines) or '    pass'}"
    exec(source, given)  # noqa: S102 - as the library does; nothing in it is from outside
    made = given["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__annotations__ = {**{name: cls.__annotations__[name] for name in names}, "return": "None"}
    made.__module__ = cls.__module__
    return made


def _by_library(cls: type, kinds: dict[str, str], arguments: dict[str, bool]) -> dict[str, object]:
    """Return what the library's own functions look at, made by the library of a class with the same fields."""
    from dataclasses import dataclass as made_by_library  # noqa: PLC0415 - hardly any program asks for it

    told = {name: value.by_library() for name, value in cls.__dict__[_TOLD].items()}
    space = {**told, "__annotations__": kinds, "__module__": cls.__module__, "__doc__": cls.__doc__}
    made: Any = made_by_library(slots=True, **arguments)(type(cls.__name__, (), space))
    return {name: made.__dict__[name] for name in _MADE_BY_LIBRARY}


def _comparing(values: Callable[[Any], Any], arguments: dict[str, bool]) -> dict[str, object]:
    def __eq__(self: object, other: object) -> bool:  # noqa: N807 - what stands in the class
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: object) -> int:  # noqa: N807 - as above
        return hash(values(self))

    def __lt__(self: object, other: object) -> bool:  # noqa: N807 - as above
        return values(self) < values(other) if other.__class__ is self.__class__ else NotImplemented

    def __le__(self: object, other: object) -> bool:  # noqa: N807 - as above
        return values(self) <= values(other) if other.__class__ is self.__class__ else NotImplemented

    def __gt__(self: object, other: object) -> bool:  # noqa: N807 - as above
        return values(self) > values(other) if other.__class__ is self.__class__ else NotImplemented

    def __ge__(self: object, other: object) -> bool:  # noqa: N807 - as above
        return values(self) >= values(other) if other.__class__ is self.__class__ else NotImplemented

    ordering = {"__lt__": __lt__, "__le__": __le__, "__gt__": __gt__, "__ge__": __ge__} if arguments["order"] else {}
    return {"__eq__": __eq__, "__hash__": __hash__ if arguments["frozen"] else None, **ordering}


def _nothing(_instance: object) -> tuple[()]:
    return ()


def _repr(self: Any) -> str:  # noqa: ANN401 - any instance
    cls = type(self)
    told = getattr(cls, _TOLD)
    shown = (name for name in getattr(cls, _NAMES) if told.get(name, _PLAIN).repr)
    return f"{cls.__qualname__}({', '.join([f'{name}={getattr(self, name)!r}' for name in shown])})"


def _state(self: Any) -> list[object]:  # noqa: ANN401 - as above
    return [getattr(self, name) for name in getattr(type(self), _NAMES)]


def _set_state(self: Any, state: list[object]) -> None:  # noqa: ANN401 - as above
    for name, value in zip(getattr(type(self), _NAMES), state, strict=True):
        object.__setattr__(self, name, value)


def _refuse_to_set(_self: object, name: str, _value: object) -> None:
    from dataclasses import FrozenInstanceError  # noqa: PLC0415 - a fault of a program's

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_self: object, name: str) -> None:
    from dataclasses import FrozenInstanceError  # noqa: PLC0415 - as above

    raise FrozenInstanceError(f"cannot delete field {name!r}")
