#!/usr/bin/env python3
"""Make an nkey for each user of the fleet's NATS server, and write users.conf with what each role may do.

    users.py DIR machine   TEAM MACHINE            a developer's machine
    users.py DIR worker    TEAM MACHINE SUBJECT    a machine that runs `hookline worker --subject SUBJECT`
    users.py DIR publisher NAME                    who publishes policies
    users.py DIR auditor   NAME [TEAM ...]         who reads the record of all teams, or of these, if each has a stream
    users.py DIR admin     NAME                    who makes the streams and buckets

Each call adds one user, or writes an existing one anew with the same key. DIR/keys/NAME.nk is the seed: move it to that
machine, readable for its user only, and name it in "hooksConfig": {"fleet": {"nkey": "…", "machine": "MACHINE"}}. The
server needs users.conf alone; `nats-server --signal reload` takes it over. It needs: pip install 'hookline[fleet]'
"""

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import nkeys

from hookline.contract.fleet import AUDIT_STREAM, MACHINES_BUCKET, POLICY_BUCKET, inbox_of, token_of

Permissions = dict[str, Any]

_POLICY, _MACHINES = f"KV_{POLICY_BUCKET}", f"KV_{MACHINES_BUCKET}"
# How long after a message its receiver may still answer, and end what it asked for: longer than any hook takes.
_ANSWERS = "1h"


def machine(team: str, name: str) -> Permissions:
    """Asks workers of its team, sends its own records and signs of life, reads the policy of its team and of all."""
    own = f"{token_of(team)}.{token_of(name)}"
    teams = {token_of(team), "all"}
    return {
        "publish": [
            f"hookline.ask.{token_of(team)}.*.{token_of(name)}.one.>",
            f"hookline.audit.{own}",
            f"hookline.anchor.{own}",
            f"$KV.{MACHINES_BUCKET}.{own}",
            f"$KV.{MACHINES_BUCKET}.{own}.>",
            f"$JS.API.STREAM.INFO.{_POLICY}",
            f"$JS.API.STREAM.INFO.{_MACHINES}",
            *(f"$JS.API.DIRECT.GET.{_POLICY}.$KV.{POLICY_BUCKET}.*.{one}" for one in sorted(teams)),
        ],
        "subscribe": [f"{inbox_of(name)}.>", *(f"$KV.{POLICY_BUCKET}.*.{one}" for one in sorted(teams))],
        # It says go and cancel to the worker that claimed its request.
        "allow_responses": {"max": 4, "expires": _ANSWERS},
    }


def worker(team: str, name: str, subject: str) -> Permissions:
    """Hears requests of one subject, and answers them; publishes nothing of its own."""
    return {
        "subscribe": [
            f"hookline.ask.{token_of(team)}.{token_of(subject)}.*.one.> workers",
            f"{inbox_of(name)}.>",
        ],
        "publish": {"deny": ">"},
        # Signs of life while a hook works, and the answer.
        "allow_responses": {"max": -1, "expires": _ANSWERS},
    }


def publisher(name: str) -> Permissions:
    """Publishes policies and switches; the machines check their signature all the same."""
    return {
        "publish": [
            f"$KV.{POLICY_BUCKET}.>",
            *(f"$JS.API.STREAM.{verb}.{_POLICY}" for verb in ("INFO", "CREATE")),
            *_reading(_POLICY),
            f"$JS.API.DIRECT.GET.{_POLICY}",
            f"$JS.API.DIRECT.GET.{_POLICY}.>",
        ],
        "subscribe": [f"{inbox_of(name)}.>"],
    }


def auditor(name: str, *teams: str) -> Permissions:
    """Reads records and signed heads, and signs of life and policies of all machines; changes and removes nothing."""
    streams = [f"{AUDIT_STREAM}_{token_of(team)}" for team in teams] or [AUDIT_STREAM]
    return {
        "publish": [
            *(call for stream in (*streams, _MACHINES) for call in _reading(stream)),
            *(f"$JS.API.STREAM.INFO.{stream}" for stream in (*streams, _MACHINES)),
            f"$JS.API.DIRECT.GET.{_MACHINES}.>",
            # Which version of the policy machines should have.
            f"$JS.API.STREAM.INFO.{_POLICY}",
            f"$JS.API.DIRECT.GET.{_POLICY}.$KV.{POLICY_BUCKET}.bundle.*",
        ],
        "subscribe": [f"{inbox_of(name)}.>"],
    }


def admin(name: str) -> Permissions:
    """Makes and removes streams and buckets."""
    return {"publish": ["$JS.API.>", "$KV.>"], "subscribe": [f"{inbox_of(name)}.>"]}


def _reading(stream: str) -> list[str]:
    calls = ("CONSUMER.CREATE", "CONSUMER.INFO", "CONSUMER.DELETE", "CONSUMER.MSG.NEXT")
    return [f"$JS.API.{call}.{stream}.>" for call in calls] + [f"$JS.API.CONSUMER.CREATE.{stream}"]


ROLES: Mapping[str, Callable[..., Permissions]] = {
    "machine": machine,
    "worker": worker,
    "publisher": publisher,
    "auditor": auditor,
    "admin": admin,
}
# The argument that is the user's name; roles of a team have that first.
_NAME = {"machine": 1, "worker": 1}


def main(words: Sequence[str]) -> int:
    """Adds a user, and writes users.conf."""
    try:
        folder, role, *arguments = words
        permissions = ROLES[role](*arguments)
    except (ValueError, KeyError, TypeError):
        sys.stderr.write(__doc__ or "")
        return 1
    name = f"{role}-{token_of(arguments[_NAME.get(role, 0)])}"
    users = Path(folder, "users")
    users.mkdir(parents=True, exist_ok=True)
    user = {"nkey": public_key(Path(folder, "keys", f"{name}.nk")), "permissions": permissions}
    (users / f"{name}.json").write_text(json.dumps(user, indent=2))
    everybody = [json.loads(file.read_text()) for file in sorted(users.glob("*.json"))]
    # JSON is a part of the server's own format.
    Path(folder, "users.conf").write_text(f'"authorization": {json.dumps({"users": everybody}, indent=2)}\n')
    return 0


def public_key(file: Path) -> str:
    """The public half of the key in a file, which is made if it does not exist."""
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        seed = nkeys.encode_seed(os.urandom(32), nkeys.PREFIX_BYTE_USER)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
            opened.write(seed)
    return str(nkeys.from_seed(file.read_bytes().strip()).public_key.decode())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
