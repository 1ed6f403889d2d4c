"""Finds every flag that the sources can put into a result, without running them.

A flag is a text that reaches a place where flags are collected: the argument `flags` or `cause` of
a class or a function, a variable or attribute called `flags` or `causes`, or what a function
returns whose name says `flags`. Names are followed to constants, also of other modules, and calls
to the functions that they call. A flag that ends in free text is found as its beginning and `…`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

SOURCES = Path(__file__).parent.parent / "src"
FREE_TEXT = "…"
COLLECTED = ("flags", "causes")
FIELDS = ("flags", "cause")
ADDING = frozenset({"add", "append", "extend", "update", "union"})
PASSING = frozenset({"sorted", "tuple", "list", "set", "frozenset", "fromkeys"})

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Module:
    """One source file: its constants, functions and imports, by name."""

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self.source = source

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.source)

    @cached_property
    def constants(self) -> Mapping[str, ast.expr]:
        found: dict[str, ast.expr] = {}
        for node in self.tree.body:
            for target, value in _assignments(node):
                if isinstance(target, ast.Name):
                    found[target.id] = value
                elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                    found.update(zip(map(_last_name, target.elts), value.elts, strict=False))
        return found

    @cached_property
    def functions(self) -> Mapping[str, Function]:
        return {node.name: node for node in ast.walk(self.tree) if isinstance(node, Function)}

    @cached_property
    def imports(self) -> Mapping[str, tuple[str, str]]:
        return {
            alias.asname or alias.name: (node.module or "", alias.name)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }


class Place(NamedTuple):
    """Where an expression is: its module, its function, and the names followed so far."""

    module: Module
    scope: ast.AST
    seen: frozenset[str] = frozenset()


class Scan:
    """Finds the flags of modules, which are given by name."""

    def __init__(self, modules: Mapping[str, Module]) -> None:
        self._modules = modules
        self._classes: dict[str, Sequence[int]] = {}
        self._methods: dict[str, Sequence[int]] = {}
        for module in modules.values():
            if any(field in module.source for field in FIELDS):
                for node in module.tree.body:
                    if isinstance(node, ast.ClassDef):
                        self._note_class(node)

    def _note_class(self, node: ast.ClassDef) -> None:
        if places := _flag_places(node):
            self._classes[node.name] = places
        for method in node.body:
            if isinstance(method, Function) and (places := _flag_places(method)):
                self._methods[method.name] = places

    def flags_of(self, module: Module) -> set[str]:
        """The flags that the code of one module collects."""
        if not any(word in module.source for word in (*FIELDS, *self._classes)):
            return set()
        scopes = [module.tree, *module.functions.values()]
        return {
            text
            for scope in scopes
            for value in self._collected(scope, module)
            for text in self._texts(value, Place(module, scope))
        }

    def _collected(self, scope: ast.AST, module: Module) -> Iterator[ast.expr]:
        """The expressions in one function, or outside of any, whose texts are flags."""
        if isinstance(scope, Function) and "flags" in scope.name:
            yield from _results(scope)
        for node in _own_nodes(scope):
            if isinstance(node, ast.Call):
                yield from self._collected_by_call(node, module)
            for target, value in _assignments(node):
                yield from _assigned_flags(target, value)

    def _collected_by_call(self, call: ast.Call, module: Module) -> Iterator[ast.expr]:
        yield from (keyword.value for keyword in call.keywords if keyword.arg in FIELDS)
        function = call.func
        if isinstance(function, ast.Attribute) and function.attr in ADDING:
            yield from call.args if _collects(function.value) else ()
            return
        for place in self._places(function, module):
            if call.args and isinstance(call.args[0], ast.Starred):
                yield ast.Subscript(call.args[0].value, ast.Constant(place), ast.Load())
            elif place < len(call.args):
                yield call.args[place]

    def _places(self, function: ast.expr, module: Module) -> Sequence[int]:
        name = _last_name(function)
        if name in self._classes:
            return self._classes[name]
        if isinstance(function, ast.Attribute):
            return () if name == "__init__" else self._methods.get(name, ())
        owner, original = self._origin(name, module)
        defined = owner.functions.get(original)
        return () if defined is None else _flag_places(defined)

    def _texts(self, value: ast.expr, at: Place) -> set[str]:
        """Every text that an expression may have or contain."""
        match value:
            case ast.Constant(value=str(text)):
                return {text}
            case ast.JoinedStr():
                return {self._template(value, at)}
            case ast.Subscript(value=ast.Call() as call, slice=ast.Constant(value=int(number))):
                owner, function = self._called(call, at.module)
                parts = [r.elts[number] for r in _results(function) if isinstance(r, ast.Tuple)]
                return self._union(parts, Place(owner, function or at.scope, at.seen))
            case ast.Call():
                return self._texts_of_call(value, at)
            case ast.Name(id=name) if name not in at.seen:
                return self._texts_of_name(name, at._replace(seen=at.seen | {name}))
        return self._union(_parts(value), at)

    def _union(self, values: Iterable[ast.expr], at: Place) -> set[str]:
        return {text for value in values for text in self._texts(value, at)}

    def _texts_of_call(self, call: ast.Call, at: Place) -> set[str]:
        name = _last_name(call.func)
        if name in PASSING or name in ADDING:
            owner = [call.func.value] if isinstance(call.func, ast.Attribute) else []
            return self._union([*call.args, *owner], at)
        module, function = self._called(call, at.module)
        if function is None or name in at.seen:
            return set()
        return self._union(_results(function), Place(module, function, at.seen | {name}))

    def _texts_of_name(self, name: str, at: Place) -> set[str]:
        owner, original = self._origin(name, at.module)
        if original in owner.constants:
            return self._texts(owner.constants[original], Place(owner, owner.tree, at.seen))
        nodes = _own_nodes(at.scope)
        return self._union((part for node in nodes for part in _parts_of_local(name, node)), at)

    def _template(self, value: ast.JoinedStr, at: Place) -> str:
        """The text of an f-string up to the first part that is not constant."""
        text = ""
        for part in value.values:
            known = self._texts(part.value if isinstance(part, ast.FormattedValue) else part, at)
            if len(known) != 1:
                return text + FREE_TEXT
            text += known.pop()
        return text

    def _called(self, call: ast.Call, module: Module) -> tuple[Module, Function | None]:
        owner, original = self._origin(_last_name(call.func), module)
        return owner, owner.functions.get(original)

    def _origin(self, name: str, module: Module) -> tuple[Module, str]:
        origin, original = module.imports.get(name, (module.name, name))
        return self._modules.get(origin, module), original


def _parts(value: ast.expr) -> Sequence[ast.expr]:
    """The parts of an expression that may be its value, or contained in it."""
    match value:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            return parts
        case ast.Dict(values=parts) | ast.BoolOp(values=parts):
            return parts
        case ast.Starred(value=inner) | ast.Subscript(value=inner):
            return [inner]
        case ast.IfExp():
            return [value.body, value.orelse]
        case ast.BinOp():
            return [value.left, value.right]
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
            bound = {_last_name(each.target): each.iter for each in value.generators}
            return [bound.get(value.elt.id, value.elt) if isinstance(value.elt, ast.Name)
                    else value.elt]  # fmt: skip
    return ()


def _flag_places(node: ast.ClassDef | Function) -> Sequence[int]:
    """The positions of arguments called `flags` or `cause` in calls of a class or a function."""
    if isinstance(node, ast.ClassDef):
        fields = [_last_name(one.target) for one in node.body if isinstance(one, ast.AnnAssign)]
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                fields = [argument.arg for argument in method.args.args]
    else:
        fields = [argument.arg for argument in node.args.args]
    passed = [field for field in fields if field != "self"]
    return [place for place, field in enumerate(passed) if field in FIELDS]


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """All nodes of a scope, without those of functions in it."""
    for node in ast.iter_child_nodes(scope):
        if not isinstance(node, Function):
            yield node
            yield from _own_nodes(node)


def _assignments(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The targets of an assignment, each with the value."""
    if isinstance(node, ast.Assign):
        yield from ((target, node.value) for target in node.targets)
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)) and node.value is not None:
        yield node.target, node.value


def _assigned_flags(target: ast.expr, value: ast.expr) -> Iterator[ast.expr]:
    """The value, or its part, that an assignment gives to a target that collects flags."""
    if _collects(target):
        yield value
    elif isinstance(target, ast.Tuple):
        for place, part in enumerate(target.elts):
            if _collects(part):
                yield ast.Subscript(value, ast.Constant(place), ast.Load())


def _parts_of_local(name: str, node: ast.AST) -> Iterator[ast.expr]:
    """What a statement assigns or adds to a local variable."""
    yield from (value for target, value in _assignments(node) if _last_name(target) == name)
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ADDING
        and _last_name(node.func.value) == name
    ):
        yield from node.args


def _results(function: Function | None) -> Iterator[ast.expr]:
    """What a function returns or yields."""
    for node in _own_nodes(function) if function is not None else ():
        if isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom)) and node.value is not None:
            yield from _alternatives(node.value)


def _alternatives(value: ast.expr) -> Iterator[ast.expr]:
    if isinstance(value, ast.IfExp):
        yield from _alternatives(value.body)
        yield from _alternatives(value.orelse)
    else:
        yield value


def _collects(target: ast.expr) -> bool:
    return _last_name(target) in COLLECTED


def _last_name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")


@cache
def source_modules() -> Mapping[str, Module]:
    """Every module of the package, by its dotted name."""
    found = {}
    for path in sorted(SOURCES.rglob("*.py")):
        name = ".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")
        found[name] = Module(name, path.read_text(encoding="utf-8"))
    return found


def flags_in(modules: Mapping[str, Module]) -> Mapping[str, set[str]]:
    """The flags that each module collects; modules without one are left out."""
    scan = Scan(modules)
    found = {name: scan.flags_of(module) for name, module in modules.items()}
    return {name: flags for name, flags in found.items() if flags}
