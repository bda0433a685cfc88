# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""Routines as numba sees them in the body of a kernel, and values on their way between the two."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from numba import types
from numba.core import cgutils
from numba.core.imputils import lower_constant
from numba.core.registry import cpu_target
from numba.extending import models, register_model, typeof_impl
from numba.np.arrayobj import make_array

from .codegen.calling import called, flat, packed
from .codegen.syntax import Foreign, Refused
from .codegen.values import BIT, BYTE, DOUBLE, INT, Array
from .codegen.vector_arrays import Laned, LanedApart
from .routines import Inside
from .words import LANES, Apart, Lanes, Tiled


class InsideType(types.Callable):
    """numba's type of one `Inside`."""

    def __init__(self, inside: Inside):
        self.inside = inside
        super().__init__(f"inside({inside.py_func.__module__}.{inside.py_func.__name__})")

    @property
    def key(self) -> Inside:
        """What tells it from others."""
        return self.inside

    def get_call_type(self, context: Any, args: Sequence[Any], kws: Any) -> Any:
        """Write it for these arguments; returns the types of its result and of them."""
        given = tuple(types.unliteral(x) for x in args)
        try:
            written, library = self.inside.part([example(x) for x in given])
        except Foreign as error:
            raise Refused(str(error)) from None

        def call(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
            values = [taken_apart(context, builder, t, x) for t, x in zip(given, arguments, strict=True)]
            result = called(builder, written, flat(values, partial(packed, builder)))
            return put_together(context, builder, signature.return_type, result)

        call.libs = (library,)  # type: ignore[attr-defined]
        cpu_target.target_context.insert_func_defn([(call, self.get_impl_key(given), given)])
        return numba_type(written.result)(*given)

    def get_call_signatures(self) -> tuple[tuple[Any, ...], bool]:
        """None that is known beforehand."""
        return (), True

    def get_impl_key(self, sig: Any) -> Any:
        """Under what `get_call_type` leaves the code."""
        return self.inside, getattr(sig, "args", sig)


typeof_impl.register(Inside)(lambda value, context: InsideType(value))
register_model(InsideType)(models.OpaqueModel)
lower_constant(InsideType)(lambda context, builder, of, value: context.get_dummy_value())


@typeof_impl.register(Apart)
@typeof_impl.register(Tiled)
def _type_apart(value: Apart | Tiled, context: Any) -> Any:
    """One type for one tile and for several, which alone would be in C order."""
    return types.NamedTuple([typeof_impl(value.each, context).copy(layout="A")], type(value))


ELEMENTS = {types.float64: DOUBLE, types.int64: INT, types.boolean: BIT}
"""Numbers of numba and of `language`."""


def example(of: Any) -> Any:
    """A value of `language` like one of a type of numba. Raises Foreign where it has none."""
    if getattr(of, "dtype", of) not in ELEMENTS and not isinstance(of, (types.BaseTuple, types.NoneType, InsideType)):
        raise Foreign(f"expected float64, int64, boolean, arrays and tuples of them, got {of}")
    if isinstance(of, types.Array):
        element = BYTE if of.dtype == types.boolean else ELEMENTS[of.dtype]
        lengths = (INT(0),) * of.ndim
        return Array(element, element.as_pointer()(None), lengths, None if of.layout == "C" else lengths)
    if _is_laned(of):
        element = ELEMENTS[of[0].dtype]
        apart = None if of.instance_class is Lanes else (INT(0),)
        return Laned(element, (element.as_pointer()(None), None), (INT(0),) * (of[0].ndim - 1), apart)
    if _is_apart(of):
        element = ELEMENTS[of[0].dtype]
        return LanedApart(element, (element.as_pointer()(None), INT(0)), (INT(0),) * (of[0].ndim - 1), None)
    if isinstance(of, types.BaseTuple):
        values = [example(x) for x in of]
        return of.instance_class(*values) if isinstance(of, types.BaseNamedTuple) else tuple(values)
    if isinstance(of, InsideType):
        return of.inside
    return None if of == types.none else ELEMENTS[of](0)


def _is_laned(of: Any) -> bool:
    return isinstance(of, types.BaseNamedTuple) and issubclass(of.instance_class, Lanes)


def _is_apart(of: Any) -> bool:
    return isinstance(of, types.BaseNamedTuple) and of.instance_class is Apart


def numba_type(x: Any) -> Any:
    """numba's type of a value of `language`."""
    if isinstance(x, tuple):
        return types.BaseTuple.from_types([numba_type(part) for part in x])
    return types.none if x is None else {element: of for of, element in ELEMENTS.items()}[x.type]


def taken_apart(context: Any, builder: Any, of: Any, x: Any) -> Any:
    """numba's value as one of `language`."""
    if isinstance(of, types.Array):
        array = make_array(of)(context, builder, x)
        lengths, strides = (tuple(cgutils.unpack_tuple(builder, y, of.ndim)) for y in (array.shape, array.strides))
        return Array(array.data.type.pointee, array.data, lengths, None if of.layout == "C" else strides)
    if _is_laned(of):
        (array,) = cgutils.unpack_tuple(builder, x, 1)
        array = taken_apart(context, builder, of[0], array)
        apart = None if of.instance_class is Lanes else (builder.sdiv(array.strides[0], INT(8 * LANES)),)
        return Laned(array.element, (array.data, None), array.shape[:-1], apart)
    if _is_apart(of):
        (array,) = cgutils.unpack_tuple(builder, x, 1)
        array = taken_apart(context, builder, of[0], array)
        return LanedApart(array.element, (array.data, builder.sdiv(array.strides[0], INT(8))), array.shape[1:], None)
    if isinstance(of, types.BaseTuple):
        values = zip(of, cgutils.unpack_tuple(builder, x, len(of)), strict=True)
        parts = [taken_apart(context, builder, t, value) for t, value in values]
        return of.instance_class(*parts) if isinstance(of, types.BaseNamedTuple) else tuple(parts)
    return x if of in ELEMENTS else None


def put_together(context: Any, builder: Any, of: Any, x: Any) -> Any:
    """A value of `language` as numba's."""
    if isinstance(of, types.BaseTuple):
        parts = [put_together(context, builder, t, part) for t, part in zip(of, x, strict=True)]
        return context.make_tuple(builder, of, parts)
    return context.get_dummy_value() if x is None else x
