"""Case files → cases. Strict: whatever is not understood is an error with its place, because it would test nothing."""

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from hookline.errors import HooklineError
from hookline.files import open_regular
from hookline.protocol.events import HookEventName
from hookline.protocol.text.strings import nearest
from hookline.settings.read import toml
from hookline.settings.read.files import MOST_PROBLEMS
from hookline.testing.cases.case import Case, CasePlace, Expectation, Outcome, why_unusable
from hookline.testing.cases.inputs import MOST_INPUTS, CaseError, inputs_of
from hookline.testing.cases.schema import CaseFile, CaseTable, ExpectTable, InputTable

SUFFIX = ".hooks.toml"
LARGEST_FILE = 1 << 20
MOST_FILES = 1_000
_DEEPEST = 50
_DEEPEST_FOLDER = 4
_PATTERNS = ("reason", "context", "note", "output")
_MERGED = ("arguments", "input", "environment", "expect")
_TOML_PLACE = re.compile(r" \(at line (\d+), column \d+\)")
_PATH = re.compile(r" - at `\$\.?(.*)`$")
_HEADER = re.compile(r"\s*\[\[\s*case\s*\]\]")
_QUOTES = re.compile(r"\"\"\"|'''")


class CaseFileError(HooklineError):
    """A case file can't be used; `problems` has everything that is wrong with it, each with its place."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


@dataclass(frozen=True, slots=True)
class _CaseFileText:
    """A file that is being read."""

    file: str
    text: str

    def place(self, start: int | None, *path: str) -> CasePlace:
        return CasePlace(self.file, _line_of(self.text, start, path) if start else None)


def find_files(directory: Path, *, deep: bool = True) -> list[Path]:
    """The case files in a directory and some levels below it, in order; links to directories are not followed."""
    found: list[Path] = []
    top = str(directory).count(os.sep)
    for folder, folders, names in os.walk(directory):
        is_end = not deep or folder.count(os.sep) - top >= _DEEPEST_FOLDER
        folders[:] = [] if is_end else sorted(folders)
        found += (Path(folder, name) for name in sorted(names) if name.endswith(SUFFIX))
        if len(found) > MOST_FILES:
            raise HooklineError(f"there are more than {MOST_FILES} case files below {directory}; name those to run")
    return found


def read_cases(files: Iterable[Path], *, environment_of: Iterable[Path] | None = None) -> list[Case]:
    """All cases of the files; CaseFileError with everything that is wrong in any of them.

    A variable can change which program a hook runs. So with `environment_of`, only these files may set some.
    """
    cases: list[Case] = []
    problems: list[str] = []
    allowed = None if environment_of is None else set(environment_of)
    for file in files:
        try:
            read = read_text(_load(file), str(file))
            if allowed is not None and file not in allowed:
                _refuse_environment(read, file)
            cases += read
        except CaseFileError as error:
            problems += error.problems
        if len(cases) > MOST_INPUTS:
            problems.append(f"{file}: with this file there are more than {MOST_INPUTS} inputs; run fewer files")
            break
    if problems:
        raise CaseFileError(problems)
    return cases


def read_text(text: str, file: str) -> list[Case]:
    """The cases of one file's text; CaseFileError with everything that is wrong."""
    reading = _CaseFileText(file, text)
    raw = _parse(reading)
    lines = _case_lines(text)
    tables = raw.get("case", [])
    problems = [*islice(_unknown(raw, CaseFile, reading, 1), MOST_PROBLEMS)]
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise CaseFileError([*problems, f"{reading.place(1, 'case')}: case is not a list of tables; write [[case]]"])
    defaults = raw.get("defaults", {})
    if not isinstance(defaults, dict):
        raise CaseFileError([*problems, f"{reading.place(1, 'defaults')}: defaults is not a table; write [defaults]"])
    problems += (of_defaults := list(islice(_unknown(defaults, CaseTable, reading, 1), MOST_PROBLEMS)))
    if not tables:
        problems.append(f"{file}: it has no case; write [[case]]")
    cases: list[Case] = []
    for index, table in enumerate(tables):
        start = lines[index] if len(lines) == len(tables) else None
        try:
            problems += (unknown := list(islice(_unknown(table, CaseTable, reading, start), MOST_PROBLEMS)))
            if not unknown and not of_defaults:
                cases += _cases(reading, start, index, _merged(defaults, table))
        except CaseError as fault:
            problems.append(f"{reading.place(start, *fault.path)}: {fault}")
        if len(problems) > MOST_PROBLEMS:
            # To find the place of each takes a search through the file.
            problems[MOST_PROBLEMS:] = [f"{file}: there are more problems; fix these first"]
            break
        if len(cases) > MOST_INPUTS:
            problems.append(f"{reading.place(start)}: there are more than {MOST_INPUTS} inputs in this file")
            break
    if problems:
        raise CaseFileError(problems)
    return cases


def _load(file: Path) -> str:
    try:
        with os.fdopen(open_regular(file, os.O_RDONLY), "rb") as stream:
            data = stream.read(LARGEST_FILE + 1)
    except OSError as error:
        raise CaseFileError([f"{file}: it can't be read: {error.strerror}"]) from error
    if len(data) > LARGEST_FILE:
        raise CaseFileError([f"{file}: it is larger than {LARGEST_FILE >> 20} MiB"])
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise CaseFileError([f"{file}: it is not UTF-8 ({error.reason} at byte {error.start})"]) from error


def _parse(reading: _CaseFileText) -> dict[str, Any]:
    try:
        raw = toml.parse(reading.text)
    except ValueError as error:
        found = _TOML_PLACE.search(str(error))
        place = CasePlace(reading.file, int(found[1]) if found else None)
        raise CaseFileError([f"{place}: not TOML: {_TOML_PLACE.sub('', str(error))}"]) from error
    try:
        _check_json(raw, _DEEPEST)
    except CaseError as fault:
        raise CaseFileError([f"{reading.file}: {fault}"]) from fault
    return raw


def _check_json(value: Any, depth: int) -> None:
    """CaseError for a value that hooks could not be given, because JSON has no such values."""
    if isinstance(value, dict | list):
        if not depth:
            raise CaseError(f"tables are nested more than {_DEEPEST} deep")
        for item in value.values() if isinstance(value, dict) else value:
            _check_json(item, depth - 1)
    elif isinstance(value, float) and not math.isfinite(value):
        raise CaseError(f"{value} is not a number in JSON, which hooks read")
    elif not isinstance(value, str | int | float):
        raise CaseError(f"{value} is a date or time; write it as a text, because hooks read JSON")


def _unknown(table: Mapping[str, Any], kind: type, reading: _CaseFileText, start: int | None) -> Iterator[str]:
    """A message for each key of a table that has no meaning there."""
    parts: dict[str, type] = {"expect": ExpectTable} if kind is CaseTable else {}
    known = [field.name for field in msgspec.structs.fields(kind)]
    for key, value in table.items():
        if key not in known:
            close = nearest(key, known)
            elsewhere = key in ExpectTable.__struct_fields__ and kind is CaseTable
            hint = f"write expect.{key}" if elsewhere else f"did you mean {close}?" if close else ""
            hint = hint or f"the keys are {', '.join(known)}"
            yield f"{reading.place(start, key)}: there is no key {key} here; {hint}"
        elif key in parts and isinstance(value, dict):
            yield from _unknown(value, parts[key], reading, start)
        elif key == "each" and isinstance(value, list):
            for row in value:
                yield from _unknown(row, InputTable, reading, start) if isinstance(row, dict) else ()


def _merged(defaults: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """The case with what the defaults add to it."""
    defaults, table = ({**given, **_expect_table(given)} for given in (defaults, table))
    merged = {**defaults, **table}
    for name in _MERGED:
        both = defaults.get(name), table.get(name)
        if isinstance(both[0], dict) and isinstance(both[1], dict):
            merged[name] = {**both[0], **both[1]}
    return merged


def _expect_table(given: Mapping[str, Any]) -> dict[str, Any]:
    expect = given.get("expect")
    return {"expect": {"outcome": expect}} if isinstance(expect, str) else {}


def _cases(reading: _CaseFileText, start: int | None, index: int, raw: Mapping[str, Any]) -> Iterator[Case]:
    try:
        table = msgspec.convert(raw, CaseTable)
    except msgspec.ValidationError as error:
        raise _type_fault(str(error), raw) from error
    expected = _expectation(table.expect)
    event = table.event or HookEventName.BEFORE_TOOL
    name = table.name or f"case {index + 1}"
    place = CasePlace(reading.file, start)
    for label, fields, environment in inputs_of(table):
        case = Case(name=name, place=place, event=event, fields=fields, expected=expected, input_label=label)
        yield replace(case, environment=environment) if environment else case


def _type_fault(message: str, raw: Mapping[str, Any]) -> CaseError:
    found = _PATH.search(message)
    path = found[1] if found else ""
    text = message[: found.start()] if found else message
    keys = tuple(re.findall(r"[\w-]+", path))
    if "Invalid enum value" in text:
        given: Any = raw
        for key in keys:
            given = given.get(key) if isinstance(given, Mapping) else None
        choices = list(HookEventName) if keys[-1:] == ("event",) else list(Outcome)
        close = nearest(str(given), choices, cutoff=0.4)
        hint = f"did you mean {close!s}?" if close else f"choose one of {', '.join(choices)}"
        return CaseError(f"{path} is {given}, which there is not; {hint}", *keys)
    return CaseError(f"{path}: {text[0].lower()}{text[1:]}", *keys)


def _expectation(given: Outcome | ExpectTable | None) -> Expectation:
    table = ExpectTable(outcome=given) if isinstance(given, Outcome) else given
    if table is None or table == ExpectTable():
        raise CaseError(f'the case expects nothing; write, for example, expect = "blocked" ({", ".join(Outcome)})')
    for name in _PATTERNS:
        pattern = getattr(table, name)
        if pattern is not None and (fault := why_unusable(pattern)):
            raise CaseError(f"expect.{name} {fault}", "expect", name)
    values = {name: getattr(table, name) for name in ExpectTable.__struct_fields__}
    for name in ("by", "ran", "fails"):
        values[name] = (values[name],) if isinstance(values[name], str) else tuple(values[name] or ())
    values["tools"] = None if table.tools is None else tuple(table.tools)
    return Expectation(**values)


def _refuse_environment(cases: Iterable[Case], file: Path) -> None:
    found = next((case for case in cases if case.environment), None)
    if found is not None:
        why = "it sets variables, which can change what your hooks run"
        remedy = f"read the file, and if that is right, name it: hookline test {file}"
        raise CaseFileError([f"{found.place}: {why}; {remedy}"])


def _case_lines(text: str) -> list[int]:
    """The line of each `[[case]]`, counted from 1, which `tomllib` does not report."""
    found: list[int] = []
    open_quotes = ""
    for number, line in enumerate(text.split("\n"), 1):
        if not open_quotes and _HEADER.match(line):
            found.append(number)
        for quotes in _QUOTES.findall(line):
            # A line such as `x = """one line"""` opens and closes.
            open_quotes = "" if open_quotes == quotes else open_quotes or quotes
    return found


def _line_of(text: str, start: int | None, path: Sequence[str]) -> int | None:
    """The line of the innermost key of a path that is found in the table that starts on this line, or that line."""
    if start is None:
        return None
    lines = text.split("\n")
    end = next((at for at in range(start, len(lines)) if _HEADER.match(lines[at])), len(lines))
    # `each.tool = …` before any other `tool = …`.
    for keys in (path, *([key] for key in reversed(path))):
        dotted = r"\s*\.\s*".join(re.escape(key) for key in keys)
        word = re.compile(rf"""(?:^|[\s.{{\[,])["']?{dotted}["']?\s*[=.\]]""")
        for at in range(start, end) if keys else ():
            if word.search(lines[at].partition("#")[0]):
                return at + 1
    return start
