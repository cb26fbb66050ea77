"""Code that prints the whole environment: all variables at once, or each by a name that it goes through."""

import re

from hookline.guards.shell_eval.literals import Code

# All variables at once, as languages name them.
_ALL = (
    r"(?:\bos\s*\.\s*environb?\b|(?<![\w.])environb?\b|\bprocess\s*\.\s*env\b|(?<![\w.])ENV\b|[%@]ENV\b|\$_(?:ENV|SERVER)\b"
    r"|\b(?:os\s*\.\s*)?getenv\s*\(\s*\)|\bos\.Environ\s*\(\s*\)|\bSystem\s*\.\s*getenv\s*\(\s*\)|\b(?:Deno|Bun)\s*\.\s*env\b|\bENVIRON\b)"
)
_WHOLE = re.compile(_ALL)
# What is asked of it instead: a variable by its name, the names alone, or to hand it to another program.
_PART = re.compile(
    rf"{_ALL}\s*(?:\[\s*[\"'\ue010]|\??\.\s*(?!items\b|values\b|copy\b|to_\w|toObject|map\b|each|select|inspect|sort|filter|sum|join"
    rf"|entries|__)[A-Za-z_]\w*|\{{\s*\w+\s*\}})"
    rf"|\b(?:env|environ)\s*[=:]\s*(?:dict\s*\(\s*)?{_ALL}(?:\s*\.\s*copy\s*\(\s*\))?"
    rf"|(?:\*\*|\.\.\.)\s*{_ALL}|\b(?:len|sorted|list|set|tuple|bool|sum|iter|keys|scalar|count)\s*\(?\s*{_ALL}(?!\s*\.)"
    rf"|\bdict\s*\(\s*{_ALL}\s*\)\s*\.\s*(?:keys|get)\b|\bkeys\s*\(?\s*{_ALL}|[\ue011\w]\s+(?:not\s+)?in\s+{_ALL}(?!\s*\.)|\(\w+\s+in\s+ENVIRON\)"
    rf"|\bimport\s+(?:\w+\s*,\s*)*{_ALL}(?!\s+as\b)|\{{[\w\s,:]+\}}\s*=\s*{_ALL}|\b\w+\s*=\s*(?:dict\s*\(\s*)?{_ALL}\s*\.\s*copy\s*\(\s*\)"
)
# A variable by a name that is only known while the code runs.
_BY_NAME = re.compile(
    r"\benvironb?\s*(?:\[|\.\s*get\s*\()\s*(?![\"'\ue010])\w|\bgetenv\s*\(\s*(?![\"'\ue010)])[$\w]"
    r"|\bprocess\s*\.\s*env\s*\[\s*(?![\"'\ue010])\w|\$ENV\s*\{\s*\$|\bENVIRON\s*\[\s*[a-zA-Z]|(?<![\w.%@$])ENV\s*\[\s*(?![\"'\ue010])\w"
)
_GOES_THROUGH = re.compile(rf"\b(?:in|keys|each|map|foreach|for|Object\s*\.\s*keys)\s*\(?\s*{_ALL}")
_PRINTS = re.compile(
    r"\b(?:print\w*|pp?|puts|say|warn|echo|log|dumps?|write\w*|inspect|stringify|var_dump|var_export|console|stdout|stderr|send\w*)\b"
)


def prints_environment(given: Code) -> bool:
    """Whether a piece of code may print all variables."""
    # What a literal takes values from is code, too, and a name may be given as a text.
    texts = (each.text for each in given.literals if not each.is_plain or each.text in ("environ", "environb", "env"))
    code = " ".join((given.text, *texts))
    if not _WHOLE.search(code) or not _PRINTS.search(code):
        return False
    if _WHOLE.search(_PART.sub(" ", code)):
        return True
    return _BY_NAME.search(code) is not None and _GOES_THROUGH.search(code) is not None
