"""core.protocols: the interface of an object's class is looked up once."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from tare.core.protocols import implements


@runtime_checkable
class Walks(Protocol):
    def walk(self) -> str: ...


class Dog:
    def walk(self) -> str:
        return "trots"


class Stone:
    n_asked = 0

    def __getattr__(self, name: str) -> str:
        Stone.n_asked += 1
        raise AttributeError(name)


def test_an_object_has_the_interface_of_its_class() -> None:
    one: object = Dog()
    assert implements(one, Walks)
    assert one.walk() == "trots"
    assert not implements(Stone(), Walks)


def test_a_class_is_looked_up_once() -> None:
    assert not implements(Stone(), Walks)
    asked = Stone.n_asked
    assert [implements(Stone(), Walks) for _ in range(3)] == [False] * 3
    assert Stone.n_asked == asked
