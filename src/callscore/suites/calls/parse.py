"""From a raw reply to one JSON object in the structure of the expected outcome (C-23)."""

from __future__ import annotations

from typing import Literal

from callscore.core.case import Malformed, Reply
from callscore.core.reply_json import Parsed, body_of, decode_body, is_finished
from callscore.suites.calls.fast_parse import read_documented
from callscore.suites.calls.structure import Structure


def parse_reply(
    reply: Reply, structure: Structure, parse: Literal["fenced", "strict"]
) -> Parsed | Malformed:
    """The one JSON object of a reply, in the structure that the expected outcome has (C-23)."""
    form = structure.sources.form if structure.is_documented and is_finished(reply) else None
    if form is not None:
        documented = read_documented(reply.text, structure.expected, form, structure.allows)
        if documented is not None:
            return Parsed(documented)
    body = body_of(reply, parse)
    if isinstance(body, Malformed):
        return body
    if form is not None and body.flags:
        documented = read_documented(body.raw, structure.expected, form, structure.allows)
        if documented is not None:
            return Parsed(documented, body.flags)
    parsed = decode_body(body)
    if isinstance(parsed, Malformed):
        return parsed
    fault = structure.fault(parsed.value)
    return Malformed("structure", fault) if fault else parsed
