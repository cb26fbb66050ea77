"""Results as JUnit XML, which CI systems read."""

import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from hookline.testing.cases.run import Result

# Characters that XML 1.0 can't hold, not even escaped.
_IMPOSSIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def junit_xml(results: Sequence[Result]) -> bytes:
    """One suite per file, with one testcase for each input."""
    suites = ET.Element("testsuites", name="hookline")
    for file in dict.fromkeys(result.case.place.file for result in results):
        own = [result for result in results if result.case.place.file == file]
        failed = sum(1 for result in own if result.problem is None and result.differences)
        errors = sum(1 for result in own if result.problem is not None)
        counts = {"tests": str(len(own)), "failures": str(failed), "errors": str(errors)}
        suite = ET.SubElement(suites, "testsuite", {"name": _text(file), "time": _seconds(own), **counts})
        for result in own:
            _add(suite, result)
    return bytes(ET.tostring(suites, encoding="utf-8", xml_declaration=True))


def _add(suite: ET.Element, result: Result) -> None:
    case = result.case
    line = {} if case.place.line is None else {"line": str(case.place.line)}
    facts = {"name": _text(case.title), "classname": _text(case.event), "file": _text(case.place.file), **line}
    element = ET.SubElement(suite, "testcase", {**facts, "time": _seconds([result])})
    if result.problem is not None:
        ET.SubElement(element, "error", message=_text(result.problem))
    elif result.differences:
        first = result.differences[0]
        message = f"{first.what}: expected {first.expected}, got {first.got}"
        failure = ET.SubElement(element, "failure", message=_text(message))
        parts = (f"{one.what}:\n  expected {one.expected}\n  got      {one.got}" for one in result.differences)
        failure.text = _text("\n".join(parts))


def _seconds(results: Sequence[Result]) -> str:
    total = sum(result.verdict.duration_ms for result in results if result.verdict is not None)
    return f"{total / 1000:.3f}"


def _text(text: str) -> str:
    return _IMPOSSIBLE.sub(lambda found: ascii(found[0])[1:-1], text)
