"""The places of a source file where mutate.py can break it: a function, and an operator inside that function.

Line numbers and texts change with every edit; `merge_or_decision`, `argument note` survives most of them.
"""

import ast
import difflib
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

OPERATORS = """\
return, yield, raise, if (also of while and of comprehensions), for (the iterable), and, or, compare, except, constant,
bases (of a class), value (of a module's or class's assignment), body, start (adds code before the body), statement;
with a name: assign NAME, call NAME, argument NAME, key NAME, annotation NAME (of a parameter, or `return`)"""

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Node = ast.expr | ast.stmt
_WHOLE: Mapping[type[_Node], str] = {
    ast.Compare: "compare",
    ast.Constant: "constant",
    ast.Raise: "raise",
    ast.Expr: "statement",
}


class NoSuchPlaceError(Exception):
    """No place, or more than one, fits what a mutant asks for."""


@dataclass(frozen=True, slots=True)
class Site:
    """A piece of source code that an operator names."""

    operator: str
    node: ast.AST
    start: int
    """Offset of the first character in the file; `end` is the offset after the last."""
    end: int
    column: int

    @property
    def is_statement(self) -> bool:
        """True for code that fills whole lines."""
        return self.operator in {"body", "start", "statement", "raise"}


class Source:
    """A parsed source file."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._tree = ast.parse(text)
        self._line_starts = [0]
        for line in text.split("\n"):
            self._line_starts.append(self._line_starts[-1] + len(line) + 1)
        self.functions = dict(_definitions(self._tree))
        """Every function, class and assigned name of a module or class, by its qualified name."""

    def sites(self, function: str) -> list[Site]:
        """All places in a function, in the order of the source."""
        definition = self.functions[function]
        found = [self._site(operator, *nodes) for operator, *nodes in _operators(definition)]
        return sorted(found, key=lambda site: (site.start, -site.end))

    def find(self, function: str, operator: str) -> Site:
        """The place of an operator; `call merge 2` is the second of several."""
        name, _, number = operator.rpartition(" ")
        is_numbered = bool(name) and number.isdigit()
        sought = name if is_numbered else operator
        sites = self.sites(function)
        fitting = [site for site in sites if site.operator == sought]
        if not is_numbered and len(fitting) == 1:
            return fitting[0]
        if is_numbered and 0 < int(number) <= len(fitting):
            return fitting[int(number) - 1]
        if fitting:
            raise NoSuchPlaceError(f"{function} has {len(fitting)} x {sought!r}; write `{sought} NUMBER`")
        have = ", ".join(dict.fromkeys(site.operator for site in sites))
        raise NoSuchPlaceError(f"{function} has no {sought!r}; it has: {have}")

    def code(self, site: Site) -> str:
        """The source code of a place."""
        return self.text[site.start : site.end]

    def changed(self, site: Site, to: str) -> str:
        """The file with other code at this place; `_` as a word in it stands for the code that is there now."""
        old = self.code(site)
        if site.is_statement:
            new = textwrap.indent(to.strip("\n"), " " * site.column).lstrip(" ")
            new = f"{new}\n{' ' * site.column}{old}" if site.operator == "start" else new
        elif site.operator == "bases":
            new = to
        else:
            new = f"({_filled(to.strip(), f'({old})')})"
        text = self.text[: site.start] + new + self.text[site.end :]
        try:
            is_same = ast.dump(ast.parse(text)) == ast.dump(self._tree)
        except SyntaxError:
            return text  # the run of the tests reports it
        if is_same:
            raise NoSuchPlaceError("the replacement is the same code")
        return text

    def _site(self, operator: str, first: _Node, last: _Node) -> Site:
        start = self._offset(first.lineno, first.col_offset)
        end = self._offset(last.end_lineno or 0, last.end_col_offset or 0)
        return Site(operator, first, start, end, first.col_offset)

    def _offset(self, line: int, byte: int) -> int:
        start = self._line_starts[line - 1]
        end = self._line_starts[line]
        return start + len(self.text[start:end].encode()[:byte].decode())


def find_file(package: Path, function: str, file: str) -> Path:
    """The file with this function; `file` is the end of its path, needed only where several files have one."""
    files = [path for path in _files(package) if path.as_posix().endswith(file)]
    found = [path for path in files if function in read_source(path).functions]
    if len(found) == 1:
        return found[0]
    if found:
        places = ", ".join(str(path.relative_to(package)) for path in found)
        raise NoSuchPlaceError(f"{function} is in several files; add one of them as `file`: {places}")
    if not files:
        raise NoSuchPlaceError(f"no file ends with {file}")
    names = {name for path in _files(package) for name in read_source(path).functions}
    close = difflib.get_close_matches(function, names, n=3, cutoff=0.5)
    raise NoSuchPlaceError("\n".join([f"no function {function}", *(f"similar: {name}" for name in close)]))


@cache
def _files(package: Path) -> tuple[Path, ...]:
    return tuple(sorted(package.rglob("*.py")))


@cache
def read_source(path: Path) -> Source:
    """The parsed file, which must not change while this process runs."""
    return Source(path.read_text(encoding="utf-8"))


def trivial_changes(source: Source, function: str) -> Iterator[tuple[str, str]]:
    """Operator and replacement of each trivial mutant: negated conditions, dropped results, and/or, constants."""
    counts: dict[str, int] = {}
    for site in source.sites(function):
        number = counts[site.operator] = counts.get(site.operator, 0) + 1
        make = _TRIVIAL.get(site.operator)
        to = None if make is None else make(source, site.node)
        if to is not None:
            yield f"{site.operator} {number}", to


def _other_operator(source: Source, node: ast.AST, word: str) -> str:
    assert isinstance(node, ast.BoolOp)  # noqa: S101 - the operators `and` and `or` are made of these
    return word.join(f"({ast.get_source_segment(source.text, value)})" for value in node.values)


def _other_constant(_: Source, node: ast.AST) -> str | None:
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, bool):
        return repr(not value)
    return repr(value + 1) if isinstance(value, int) else None


_TRIVIAL: Mapping[str, Callable[[Source, ast.AST], str | None]] = {
    "if": lambda _source, _node: "not _",
    "return": lambda _source, node: None if isinstance(node, ast.Constant) and node.value is None else "None",
    "and": lambda source, node: _other_operator(source, node, " or "),
    "or": lambda source, node: _other_operator(source, node, " and "),
    "constant": _other_constant,
}


def _filled(to: str, old: str) -> str:
    """Return the replacement with each name `_` in it replaced by the old code."""
    try:
        names = [node for node in ast.walk(ast.parse(f"({to})")) if isinstance(node, ast.Name) and node.id == "_"]
    except SyntaxError:
        return to
    lines = to.split("\n")
    for name in sorted(names, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        line = lines[name.lineno - 1]
        column = len(line.encode()[: name.col_offset - (name.lineno == 1)].decode())
        lines[name.lineno - 1] = f"{line[:column]}{old}{line[column + 1 :]}"
    return "\n".join(lines)


def _definitions(tree: ast.Module | ast.ClassDef | _Function, prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    for node in tree.body if not isinstance(tree, _Function) else _nested(tree):
        if isinstance(node, ast.ClassDef | _Function):
            yield prefix + node.name, node
            yield from _definitions(node, f"{prefix}{node.name}.")
        elif (
            isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and not isinstance(tree, _Function)
        ):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name):
                    yield prefix + target.id, node


def _nested(function: _Function) -> Iterator[ast.stmt]:
    for node in ast.walk(function):
        if node is not function and isinstance(node, ast.ClassDef | _Function):
            yield node


def _operators(definition: ast.AST) -> Iterator[tuple[str, _Node, _Node]]:
    if isinstance(definition, _Function):
        body = definition.body[1:] if ast.get_docstring(definition, clean=False) is not None else definition.body
        if body:
            yield "body", body[0], body[-1]
            yield "start", body[0], body[0]
    if isinstance(definition, ast.ClassDef) and definition.bases:
        yield "bases", definition.bases[0], definition.bases[-1]
    if isinstance(definition, ast.Assign | ast.AnnAssign) and definition.value is not None:
        yield "value", definition.value, definition.value
    for node in _below(definition):
        for operator, place in _operators_of(node):
            if place is not None:
                yield operator, place, place


def _below(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the node and all below it, without f-strings, whose positions are wrong in Python 3.11, and docstrings."""
    yield node
    for child in ast.iter_child_nodes(node):
        is_text = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
        if not is_text and not isinstance(child, ast.JoinedStr):
            yield from _below(child)


def _operators_of(node: ast.AST) -> Iterator[tuple[str, _Node | None]]:
    yield from _conditions_and_loops(node)
    yield from _named(node)
    yield from _unnamed(node)


def _conditions_and_loops(node: ast.AST) -> Iterator[tuple[str, _Node]]:
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield "if", test
        case ast.comprehension(iter=iterable, ifs=conditions):
            yield "for", iterable
            for condition in conditions:
                yield "if", condition
        case ast.For(iter=iterable) | ast.AsyncFor(iter=iterable):
            yield "for", iterable


def _named(node: ast.AST) -> Iterator[tuple[str, _Node | None]]:
    match node:
        case ast.Assign(targets=targets, value=value):
            yield f"assign {', '.join(map(ast.unparse, targets))}", value
        case ast.AnnAssign(target=target, value=value, annotation=annotation):
            yield f"assign {ast.unparse(target)}", value
            yield f"annotation {ast.unparse(target)}", annotation
        case ast.NamedExpr(target=target, value=value):
            yield f"assign {ast.unparse(target)}", value
        case ast.keyword(arg=str(name), value=value):
            yield f"argument {name}", value
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            yield f"call {name}", node
        case ast.arg(arg=name, annotation=annotation):
            yield f"annotation {name}", annotation
        case ast.FunctionDef(returns=annotation) | ast.AsyncFunctionDef(returns=annotation):
            yield "annotation return", annotation


def _unnamed(node: ast.AST) -> Iterator[tuple[str, _Node | None]]:
    match node:
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield f"key {key.value}", value
        case ast.Return(value=value):
            yield "return", value
        case ast.Yield(value=value):
            yield "yield", value
        case ast.ExceptHandler(type=kind):
            yield "except", kind
        case ast.BoolOp(op=operation):
            yield "and" if isinstance(operation, ast.And) else "or", node
    for whole, operator in _WHOLE.items():
        if isinstance(node, whole):
            yield operator, node
