"""Texts and paths against patterns with `*`, without a regular expression: several `*` would take it for ever."""

# Nothing that is longer can be a path.
_LONGEST_PATH = 4096


def begins_with(pattern: str, text: str) -> bool:
    """Whether the text, or its beginning up to a space, matches; `*` stands for any text."""
    *parts, last = pattern.split("*")
    place = _after(parts, text)
    if place is None:
        return False
    if parts and not last:
        return True
    found = text.find(last, place) if parts else (0 if text.startswith(last) else -1)
    while found >= 0:
        end = found + len(last)
        if end == len(text) or text[end].isspace():
            return True
        found = text.find(last, found + 1) if parts else -1
    return False


def matches(pattern: str, text: str) -> bool:
    """Whether the whole text matches; `*` stands for any text."""
    *parts, last = pattern.split("*")
    if not parts:
        return text == last
    place = _after(parts, text)
    return place is not None and text.endswith(last) and len(text) - len(last) >= place


def _after(parts: list[str], text: str) -> int | None:
    """The first place after these parts, of which the first one begins the text; None if they are not all there."""
    place = 0
    for index, part in enumerate(parts):
        found = text.find(part, place) if index else (0 if text.startswith(part) else -1)
        if found < 0:
            return None
        place = found + len(part)
    return place


def path_matches(pattern: str, path: str) -> bool:
    """Whether a path matches, where `*` and `?` stay inside a name and `**` stands for any directories."""
    if len(path) > _LONGEST_PATH:
        return True
    steps = pattern.split("/")
    places = _with_skipped(steps, {0})
    for name in path.split("/"):
        places = _with_skipped(
            steps,
            {
                place if steps[place] == "**" else place + 1
                for place in places
                if place < len(steps) and (steps[place] == "**" or _fits(steps[place], name))
            },
        )
    return len(steps) in places


def _with_skipped(steps: list[str], places: set[int]) -> set[int]:
    """Also the places after a `**`, which may stand for nothing."""
    reached = set(places)
    for place in range(min(places, default=len(steps)), len(steps)):
        if place in reached and steps[place] == "**":
            reached.add(place + 1)
    return reached


def _fits(pattern: str, name: str) -> bool:
    at = star = 0
    back = -1
    place = 0
    while place < len(name):
        if at < len(pattern) and pattern[at] == "*":
            back, star = at, place
            at += 1
        elif at < len(pattern) and pattern[at] in ("?", name[place]):
            at += 1
            place += 1
        elif back >= 0:
            star += 1
            at, place = back + 1, star
        else:
            return False
    return not pattern[at:].strip("*")
