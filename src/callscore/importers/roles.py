"""Roles of speakers: maps labels of many systems and languages to roles, and marks guesses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from callscore.importers.conversation import RawTurn, Role

ROLES: Mapping[Role, Sequence[str]] = {
    "agent": (
        "agent", "advisor", "adviser", "rep", "representative", "csr", "operator", "internal",
        "assistant", "consultant", "associate", "employee", "support", "staff", "clerk", "ai",
        "agente", "operador", "operadora", "asesor", "asesora", "atendente", "conseiller",
        "conseillere", "conseillère", "operateur", "opérateur", "berater", "beraterin",
        "mitarbeiter", "mitarbeiterin", "operatore", "상담원", "상담사", "एजेंट", "客服", "坐席",
        "オペレーター", "担当者", "оператор", "агент",
    ),
    "customer": (
        "customer", "caller", "client", "user", "end_user", "enduser", "external", "member",
        "patient", "guest", "subscriber", "borrower", "debtor", "human", "cliente", "usuario",
        "usuário", "kunde", "kundin", "anrufer", "anruferin", "appelant", "고객", "손님", "ग्राहक",
        "客户", "顾客", "お客様", "клиент",
    ),
    "bot": ("bot", "custom_bot", "ivr", "automated_agent", "virtual_agent", "voicebot", "acd"),
    "system": ("system", "tool", "function", "narrator", "announcement", "workflow"),
    "supervisor": ("supervisor", "manager", "coach", "team_lead"),
}  # fmt: skip
_BY_WORD: Mapping[str, Role] = {word: role for role, words in ROLES.items() for word in words}
_TITLES = frozenset(
    ("agent", "advisor", "adviser", "rep", "representative", "customer", "caller", "client", "bot")
)
"""Words that name a role in a longer label, too: `Sales Agent`, `Agent Mike Rivera`."""
_DIGITS = "0123456789"
_AGENT_PHRASES = re.compile(
    r"how (?:can|may) i (?:help|assist)|thank(?:s| you) for calling|you're through to|"
    r"my name is \w+,? (?:from|with|how)|this call (?:is|may be|will be) (?:being )?recorded|"
    r"is there anything else i can|en qu[eé] (?:le )?puedo ayudar|wie kann ich ihnen|"
    r"comment puis-je vous aider|무엇을 도와드릴|कैसे (?:मदद|सहायता) कर",
    re.IGNORECASE,
)


def role_of(label: str) -> Role | None:
    """The role that a label names; None if it is the name or the number of a speaker."""
    word = re.sub(r"[\s-]+", "_", label.strip().casefold()).strip("_:[]()")
    if word in _BY_WORD:
        return _BY_WORD[word]
    numbered = _BY_WORD.get(word.rstrip(_DIGITS).rstrip("_"))
    if numbered is not None or "_" not in word:
        return numbered
    first, *_, last = word.split("_")
    return next((_BY_WORD[one] for one in (last, first) if one in _TITLES), None)


class RoleMap:
    """Maps the labels of one conversation to roles: set by the user, named, else guessed."""

    def __init__(self, turns: Iterable[RawTurn], overrides: Mapping[str, Role]) -> None:
        turns = list(turns)
        self._roles: dict[str, Role] = {}
        self.guessed: dict[str, Role] = {}
        known = {label.casefold(): role for label, role in overrides.items()}
        for turn in turns:
            role = known.get(turn.label.casefold()) or role_of(turn.label)
            if role is not None:
                self._roles[turn.label] = role
        self._guess(turns)

    def role(self, label: str) -> Role:
        """The role of a label; `unknown` if it is neither known nor guessed."""
        return self._roles.get(label) or self.guessed.get(label) or "unknown"

    def notes(self) -> list[str]:
        """The guessed roles, in words."""
        return [
            f"role guessed from the words spoken: {label or 'no label'!r} is the {role}"
            for label, role in self.guessed.items()
        ]

    def _guess(self, turns: Sequence[RawTurn]) -> None:
        """Of two unknown speakers, the one who uses phrases of agents is the agent.

        Nothing is guessed if both do, or if there are more than two speakers.
        """
        labels = list(dict.fromkeys(turn.label for turn in turns if turn.label))
        unknown = [label for label in labels if label not in self._roles]
        if not unknown or len(labels) > 2:
            return
        if len(labels) == 2 and len(unknown) == 1:
            other = next(role for label, role in self._roles.items() if label in labels)
            opposite: Mapping[Role, Role] = {"agent": "customer", "customer": "agent"}
            if other in opposite:
                self.guessed[unknown[0]] = opposite[other]
            return
        speaks_as_agent = {
            turn.label for turn in turns if turn.label and _AGENT_PHRASES.search(turn.text)
        }
        if len(unknown) == 2 and len(speaks_as_agent) == 1:
            for label in unknown:
                self.guessed[label] = "agent" if label in speaks_as_agent else "customer"
