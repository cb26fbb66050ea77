"""Let hookline's hooks guard another agent: Claude Code, Codex, Gemini CLI, Cursor or Copilot CLI.

  hookline bridge install AGENT      put hookline into the agent's own settings
  hookline bridge uninstall AGENT    take it out again
  hookline bridge status [AGENT]     is it installed, does it answer, and which effects the agent can't express

AGENT is claude, codex, gemini, cursor or copilot. `hookline bridge install --help` explains one form.

Examples:
  hookline bridge install claude
  hookline bridge install codex --project --events PreToolUse,UserPromptSubmit
  hookline bridge status
"""

from hookline.apps.cli.commands._bridge import FORMS
from hookline.apps.cli.subcommands import Forms

_FORMS = Forms("bridge", FORMS)
configure, run, parser_of, names = _FORMS.configure, _FORMS.run, _FORMS.parser_of, _FORMS.names
