"""Count the slots of public signatures that a type checker sees as ``Any``.

A slot is a parameter or a return of a public function, of a public class's construction, or of one
of its public methods that is written in this package. It counts as ``Any`` where its annotation is
missing, ``Any``, or a union with ``Any``. ``python tests/typing/any_share.py`` prints the share,
and with ``--list`` every such slot.
"""

import inspect
import re
import sys
from types import ModuleType

import echelon

ANY = re.compile(r"^(Any|(.*\| ?)?Any( ?\|.*)?)$")


def public_things():
    """Every public class and function by its name, from the package and its public packages."""
    named = [getattr(echelon, name) for name in echelon.__all__]
    found = {}
    for place in [echelon, *(thing for thing in named if isinstance(thing, ModuleType))]:
        for name in place.__all__:
            thing = getattr(place, name)
            if not isinstance(thing, ModuleType):
                found.setdefault(id(thing), (f"{place.__name__}.{name}", thing))
    return dict(found.values())


def functions_of(name, thing):
    """The functions behind a public name: itself, or a class's construction and public methods."""
    if inspect.isfunction(thing):
        yield name, thing
    elif inspect.isclass(thing):
        for method in dir(thing):
            value = inspect.getattr_static(thing, method)
            value = value.fget if isinstance(value, property) else value
            value = getattr(value, "__func__", getattr(value, "fn", value))
            value = inspect.unwrap(value) if callable(value) else value
            public = method == "__init__" or not method.startswith("_")
            if public and inspect.isfunction(value) and value.__module__.startswith("echelon"):
                yield f"{name}.{method}", value


def slots(name, function):
    """Each slot of a function with its annotation, ``None`` where there is none."""
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name not in ("self", "cls"):
            annotation = parameter.annotation
            yield f"{name}({parameter.name})", None if annotation is parameter.empty else annotation
    if not name.endswith(".__init__"):
        result = inspect.signature(function).return_annotation
        yield f"{name} ->", None if result is inspect.Signature.empty else result


def is_any(annotation):
    """Whether an annotation says nothing."""
    if annotation is None:
        return True
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return bool(ANY.match(text.replace("typing.", "")))


def all_slots():
    """Every public slot and whether it is ``Any``."""
    return {
        slot: is_any(annotation)
        for name, thing in public_things().items()
        for where, function in functions_of(name, thing)
        for slot, annotation in slots(where, function)
    }


if __name__ == "__main__":
    found = all_slots()
    loose = [slot for slot, empty in found.items() if empty]
    if "--list" in sys.argv:
        print("\n".join(loose))
    print(f"{len(loose)} of {len(found)} slots are Any: {len(loose) / len(found):.1%}")
