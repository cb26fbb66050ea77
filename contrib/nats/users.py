#!/usr/bin/env python3
"""Make an nkey for each user of the fleet's NATS server, and write users.conf with an account for each of them.

    users.py DIR machine   TEAM MACHINE            a developer's machine
    users.py DIR worker    TEAM MACHINE SUBJECT    a machine that runs `hookline fleet worker --subject SUBJECT`
    users.py DIR publisher NAME                    who publishes policies
    users.py DIR auditor   NAME [TEAM ...]         who reads the record of all teams, or of these, if each has a stream
    users.py DIR admin     NAME                    who makes the streams and buckets

The streams are in the account HOOKLINE, where administrators alone are. Every machine, publisher and auditor has a
separate account, and so have the workers of one subject; it imports the subjects that its role needs and no others. A
permission to publish covers the subject of a message, and not where its answer goes: the server would write its answers
for a machine to any subject of that machine's account. So that account has nothing in it but the machine's own imports.

Each call adds a user, or writes an existing one again with its key. DIR/keys/NAME.nk is the seed: move it to that
machine, readable for its user only, and name it in "hooksConfig": {"fleet": {"nkey": "…", "machine": "MACHINE"}}. The
server needs users.conf alone; `nats-server --signal reload` takes it over. It needs: pip install 'hookline[fleet]'
"""

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import nkeys

from hookline.fleet.names import AUDIT_STREAM, MACHINES_BUCKET, POLICY_BUCKET, inbox_of, token_of

Words = dict[str, Any]
"""A part of the server's configuration."""

STREAMS = "HOOKLINE"
"""The account of the streams."""

_POLICY, _MACHINES = f"KV_{POLICY_BUCKET}", f"KV_{MACHINES_BUCKET}"
# How long after a message its receiver may still answer, and end what it asked for: longer than any hook takes.
_ANSWERS = "1h"


class Role(NamedTuple):
    """The permissions of a user, and the imports of its account."""

    publish: Sequence[str] = ()
    subscribe: Sequence[str] = ()
    answers: int | None = None
    """How many answers it may give to each message that it got."""
    account: str | None = None
    """The account that it shares with others; None for a separate one."""
    asks: str = ""
    """The requests that it sends to workers of any subject."""
    serves: str = ""
    """The subject whose requests it answers."""
    hears: Sequence[str] = ()
    """Subjects that it receives when a publisher or an administrator changes them."""
    tells: Sequence[str] = ()
    """Subjects that others may subscribe to."""


def machine(team: str, name: str) -> Role:
    """Asks workers of its team, sends its own records and signs of life, reads the policy of its team and of all."""
    own = f"{token_of(team)}.{token_of(name)}"
    keys = [f"{kind}.{one}" for kind in ("bundle", "switches") for one in sorted({token_of(team), "all"})]
    return Role(
        publish=[
            f"hookline.audit.{own}",
            f"hookline.anchor.{own}",
            f"$KV.{MACHINES_BUCKET}.{own}.*",
            *(f"$JS.API.DIRECT.GET.{_POLICY}.$KV.{POLICY_BUCKET}.{key}" for key in keys),
        ],
        subscribe=[f"{inbox_of(name)}.>"],
        # It says go and cancel to the worker that claimed its request.
        answers=4,
        asks=f"hookline.ask.{token_of(team)}.*.{token_of(name)}.one.>",
        hears=[f"$KV.{POLICY_BUCKET}.{key}" for key in keys],
    )


def worker(team: str, name: str, subject: str) -> Role:
    """Receives requests of one subject, and answers them; publishes nothing else."""
    served = f"hookline.ask.{token_of(team)}.{token_of(subject)}"
    return Role(
        subscribe=[f"{served}.*.one.> workers", f"{inbox_of(name)}.>"],
        # Signs of life while a hook works, and the answer.
        answers=-1,
        account=f"workers-{token_of(team)}-{token_of(subject)}",
        serves=served,
    )


def publisher(name: str) -> Role:
    """Publishes policies and switches; the machines check their signature all the same."""
    return Role(
        publish=[
            f"$KV.{POLICY_BUCKET}.>",
            f"$JS.API.DIRECT.GET.{_POLICY}",
            f"$JS.API.DIRECT.GET.{_POLICY}.>",
        ],
        subscribe=[f"{inbox_of(name)}.>"],
        tells=[f"$KV.{POLICY_BUCKET}.>"],
    )


def auditor(name: str, *teams: str) -> Role:
    """Reads records and signed heads, and signs of life and policies of all machines; changes and removes nothing."""
    streams = [f"{AUDIT_STREAM}_{token_of(team)}" for team in teams] or [AUDIT_STREAM]
    return Role(
        publish=[
            *(f"$JS.API.DIRECT.GET.{stream}" for stream in (*streams, _MACHINES)),
            # Which version of the policy machines should have.
            f"$JS.API.DIRECT.GET.{_POLICY}",
            f"$JS.API.DIRECT.GET.{_POLICY}.$KV.{POLICY_BUCKET}.bundle.*",
        ],
        subscribe=[f"{inbox_of(name)}.>"],
    )


def admin(name: str) -> Role:
    """Makes and removes streams and buckets."""
    return Role(publish=["$JS.API.>", "$KV.>"], subscribe=[f"{inbox_of(name)}.>"], account=STREAMS)


ROLES: Mapping[str, Callable[..., Role]] = {
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
        granted = ROLES[role](*arguments)
    except (ValueError, KeyError, TypeError):
        sys.stderr.write(__doc__ or "")
        return 1
    name = f"{role}-{token_of(arguments[_NAME.get(role, 0)])}"
    users = Path(folder, "users")
    users.mkdir(parents=True, exist_ok=True)
    user = {"nkey": public_key(Path(folder, "keys", f"{name}.nk")), "permissions": permissions_of(granted)}
    imports = [] if granted.account else imports_of(granted)
    entry = {"account": granted.account or name, "user": user, "imports": imports, "tells": list(granted.tells)}
    entry |= {"asks": granted.asks, "serves": granted.serves}
    (users / f"{name}.json").write_text(json.dumps(entry, indent=2))
    everybody = [json.loads(file.read_text()) for file in sorted(users.glob("*.json"))]
    # JSON is a part of the server's own format.
    Path(folder, "users.conf").write_text(f'"accounts": {json.dumps(accounts_of(everybody), indent=2)}\n')
    return 0


def permissions_of(role: Role) -> Words:
    """Return the permissions of a user in its account."""
    found: Words = {
        "publish": [*role.publish, *([role.asks] if role.asks else [])] or {"deny": ">"},
        "subscribe": [*role.subscribe, *role.hears],
    }
    if role.answers is not None:
        found["allow_responses"] = {"max": role.answers, "expires": _ANSWERS}
    return found


def imports_of(role: Role) -> list[Words]:
    """Return the imports between a user's account and the streams."""
    return [
        *({"service": {"account": STREAMS, "subject": subject}} for subject in role.publish),
        *({"stream": {"account": STREAMS, "subject": subject}} for subject in role.hears),
    ]


def accounts_of(entries: Sequence[Words]) -> Words:
    """All accounts, with the users of each; those that others import from exist in any case."""
    several = {"response": "stream", "threshold": _ANSWERS}
    accounts: Words = {
        STREAMS: {
            "jetstream": "enabled",
            "exports": [
                *({"service": subject} for subject in ("hookline.audit.>", "hookline.anchor.>", "$KV.>")),
                {"service": "$JS.API.DIRECT.GET.>", **several},
                {"stream": f"$KV.{POLICY_BUCKET}.>"},
            ],
        },
    }
    served = {entry["serves"]: entry["account"] for entry in entries if entry["serves"]}
    for subject, name in served.items():
        accounts[name] = {"exports": [{"service": f"{subject}.>", **several}]}
    for entry in entries:
        account = accounts.setdefault(entry["account"], {})
        account.setdefault("users", []).append(entry["user"])
        if entry["imports"]:
            account["imports"] = [*entry["imports"], *heard_of(entry, entries), *asked_by(entry, served)]
        if entry["tells"]:
            account["exports"] = [{"stream": subject} for subject in entry["tells"]]
    return accounts


def asked_by(entry: Words, served: Mapping[str, str]) -> list[Words]:
    """Imports of the workers that a machine may ask.

    Each subject has a separate account: a hostile worker, and the machine that it answers, could otherwise
    write to the workers of other subjects, in the name of any machine.
    """
    team, _, rest = entry["asks"].partition(".*")
    return [
        {"service": {"account": account, "subject": f"{subject}{rest}"}}
        for subject, account in served.items()
        if subject.rpartition(".")[0] == team
    ]


def heard_of(entry: Words, entries: Sequence[Words]) -> list[Words]:
    """Imports of what publishers write: the server does not pass on messages that reached the streams by an import."""
    heard = [one["stream"]["subject"] for one in entry["imports"] if "stream" in one]
    speakers = [one["account"] for one in entries if one["tells"]]
    return [{"stream": {"account": speaker, "subject": subject}} for speaker in speakers for subject in heard]


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
