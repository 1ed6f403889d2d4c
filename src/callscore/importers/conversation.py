"""Imported conversations: turns with normalised roles, order and times, and the language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from callscore.core.errors import DataError

Role = Literal["agent", "customer", "bot", "system", "supervisor", "unknown"]


class ImportedTurn(msgspec.Struct, frozen=True, omit_defaults=True):
    """One turn of an imported call: the fields of a case file, and others that the source has."""

    id: int
    speaker: str
    """The role if it is known, else the label of the source."""
    text: str
    start: float | None = None
    """Seconds from the start of the call."""
    end: float | None = None
    role_guessed: bool = False
    label: str | None = None
    """The speaker as the source names it, if that is not the role."""
    confidence: float | None = None
    sentiment: str | None = None
    tool_calls: Sequence[Mapping[str, Any]] = ()
    source: str = ""
    """The place in the file: a JSON path, a line or a row."""


class RecordedOutput(msgspec.Struct, frozen=True, omit_defaults=True):
    """The output of a model for a conversation, as stored in the source."""

    model: str
    output: Any
    run: int = 1
    error: str | None = None
    usage: Mapping[str, int] | None = None
    cost_usd: float | None = None


class Conversation(msgspec.Struct, frozen=True, omit_defaults=True):
    """An imported call."""

    call_id: str
    turns: Sequence[ImportedTurn]
    format: str
    source: str
    lang: str | None = None
    metadata: Mapping[str, Any] = {}
    """Further properties of the call, such as categories, issues and duration."""
    expected: Any = None
    """The expected answer of a data set, unchanged."""
    outputs: Sequence[RecordedOutput] = ()
    notes: Sequence[str] = ()
    """Guesses and corrections that a person should check."""


class SkippedPart(msgspec.Struct, frozen=True):
    """A part of a file that was not imported, and the reason."""

    where: str
    why: str


ImportIterator = Iterator[Conversation | SkippedPart]
"""What the reader of a format yields."""


class RawTurn(msgspec.Struct, frozen=True):
    """A turn as it is in the source, before roles and times are normalised."""

    label: str
    """The speaker as the source names it; empty if it names none."""
    text: str
    start: float | None = None
    end: float | None = None
    confidence: float | None = None
    sentiment: str | None = None
    tool_calls: Sequence[Mapping[str, Any]] = ()
    source: str = ""


_SPACE = re.compile(r"[ \t\r\f\v\u00a0]+")
MAX_TURNS = 100_000
"""The most turns of a call: a day with one turn a second. More is a damaged or hostile file."""
EPOCH_SECONDS = 1e8
"""Times above this (about three years) are dates since the epoch, not offsets into a call."""


class CallDetails(msgspec.Struct, frozen=True):
    """The properties of a call besides its turns."""

    call_id: str = ""
    lang: str | None = None
    metadata: Mapping[str, Any] = {}
    expected: Any = None
    outputs: Sequence[RecordedOutput] = ()
    notes: Sequence[str] = ()
    started_at: float | None = None
    """The start of the call in seconds since the epoch, if the times of turns are dates."""


class ImportContext(msgspec.Struct, frozen=True):
    """The file that is read, and the user's settings for all files."""

    source: str
    fallback_id: str
    """The id of a call without an id."""
    roles: Mapping[str, Role] = {}
    lang: str | None = None
    fields: Mapping[str, str] = {}
    """The names that the fields of turns have, where the user gives them."""


def build_conversation(
    format_name: str, turns: Iterable[RawTurn], details: CallDetails, context: ImportContext
) -> Iterator[Conversation | SkippedPart]:
    """Yield the turns without text as skipped, then the conversation of the others."""
    spoken: list[RawTurn] = []
    for turn in turns:
        text = join_lines(turn.text)
        if text or turn.tool_calls:
            spoken.append(msgspec.structs.replace(turn, text=text, label=turn.label.strip()))
            if len(spoken) > MAX_TURNS:
                raise DataError(
                    f"call {details.call_id or context.fallback_id!r} has more than {MAX_TURNS:,} "
                    "turns; expected one call",
                    place=context.source,
                )
        else:
            yield SkippedPart(turn.source, "a turn without text")
    call_id = details.call_id.strip() or context.fallback_id
    if not spoken:
        yield SkippedPart(context.source, f"call {call_id!r} has no turn with text")
        return
    spoken, notes = _sort_by_start(_to_relative_times(spoken, details.started_at))
    roles = RoleMap(spoken, context.roles)
    yield Conversation(
        call_id,
        [_turn(number, turn, roles) for number, turn in enumerate(spoken, start=1)],
        format_name,
        context.source,
        lang=details.lang or context.lang,
        metadata={key: value for key, value in details.metadata.items() if value not in (None, [])},
        expected=details.expected,
        outputs=details.outputs,
        notes=[*details.notes, *notes, *roles.notes(), *_unknown_roles(spoken, roles)],
    )


def join_lines(text: str) -> str:
    """The text on one line, with single spaces and without outer ones."""
    return _SPACE.sub(" ", " ".join(text.split("\n"))).strip()


def _turn(number: int, turn: RawTurn, roles: RoleMap) -> ImportedTurn:
    role = roles.role(turn.label)
    speaker = role if role != "unknown" else turn.label or "unknown"
    return ImportedTurn(
        number,
        speaker,
        turn.text,
        start=_seconds(turn.start),
        end=_seconds(turn.end),
        role_guessed=turn.label in roles.guessed,
        label=turn.label if turn.label and turn.label.casefold() != speaker else None,
        confidence=turn.confidence,
        sentiment=turn.sentiment,
        tool_calls=turn.tool_calls,
        source=turn.source,
    )


def _seconds(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _to_relative_times(turns: list[RawTurn], started_at: float | None) -> list[RawTurn]:
    """The turns with dates replaced by seconds from the start of the call."""
    starts = [turn.start for turn in turns if turn.start is not None]
    if not starts or max(starts) < EPOCH_SECONDS:
        return turns
    origin = min(starts)
    if started_at is not None and started_at < origin:
        origin = started_at

    def shift(time: float | None) -> float | None:
        return None if time is None else time - origin if time >= EPOCH_SECONDS else time

    return [
        msgspec.structs.replace(turn, start=shift(turn.start), end=shift(turn.end))
        for turn in turns
    ]


def _sort_by_start(turns: list[RawTurn]) -> tuple[list[RawTurn], list[str]]:
    """The turns sorted by start if every turn has one, with a note if that moved any."""
    if any(turn.start is None for turn in turns):
        return turns, []
    ordered = sorted(turns, key=lambda turn: turn.start or 0.0)
    return ordered, [] if ordered == turns else [
        "turns were not in chronological order; sorted by start"
    ]


def _unknown_roles(turns: Sequence[RawTurn], roles: RoleMap) -> list[str]:
    unknown = sorted({turn.label for turn in turns if roles.role(turn.label) == "unknown"})
    if not unknown:
        return []
    shown = ", ".join(repr(label) if label else "turns without a speaker" for label in unknown)
    return [f"role unknown: {shown}; set it with --roles LABEL=agent"]


_LANGUAGE_TAG = re.compile(r"([A-Za-z]{2,3})((?:-[A-Za-z0-9]{2,8})*)")
_LANGUAGE_NAMES = {
    "arabic": "ar", "bengali": "bn", "chinese": "zh", "czech": "cs", "danish": "da", "dutch": "nl",
    "english": "en", "finnish": "fi", "french": "fr", "german": "de", "greek": "el",
    "hebrew": "he", "hindi": "hi", "hungarian": "hu", "indonesian": "id", "italian": "it",
    "japanese": "ja", "korean": "ko", "malay": "ms", "norwegian": "no", "polish": "pl",
    "portuguese": "pt", "romanian": "ro", "russian": "ru", "spanish": "es", "swedish": "sv",
    "tamil": "ta", "telugu": "te", "thai": "th", "turkish": "tr", "ukrainian": "uk", "urdu": "ur",
    "vietnamese": "vi",
}  # fmt: skip
_NO_LANGUAGE = frozenset(("", "und", "mul", "multi", "auto", "unknown", "none", "default"))
LANGUAGE_LETTERS = 25
"""Letters that are enough to detect a language; with fewer, none is named."""
LANGUAGE_MARGIN = 10.0
"""How much likelier (as a logarithm) the language must be than the next."""
LANGUAGE_SAMPLE = 4_000
"""Characters of a call that decide on its language."""


def normalise_language(lang: str | None) -> str | None:
    """The tag in the usual form: `en_us` becomes `en-US`; None if it names no language."""
    text = (lang or "").strip().replace("_", "-")
    if text.casefold() in _NO_LANGUAGE:
        return None
    if text.casefold() in _LANGUAGE_NAMES:
        return _LANGUAGE_NAMES[text.casefold()]
    match = _LANGUAGE_TAG.fullmatch(text)
    if match is None:
        return None
    parts = [match[1].lower()]
    for part in match[2].split("-")[1:]:
        if len(part) == 4 and part.isalpha():
            parts.append(part.title())
        else:
            parts.append(part.upper() if len(part) == 2 else part.lower())
    return "-".join(parts)


def with_language(call: Conversation) -> Conversation:
    """The call with a normalised language, else with the one that is detected, and a note."""
    named = normalise_language(call.lang)
    if named is not None:
        return call if named == call.lang else msgspec.structs.replace(call, lang=named)
    notes = list(call.notes)
    if call.lang:
        notes.append(f"{call.lang!r} is not the tag of a language; it is left out")
    found = detect_language(" ".join(turn.text for turn in call.turns))
    if found is not None:
        notes.append(f"language detected from the words: {found}")
    return msgspec.structs.replace(call, lang=found, notes=notes)


def detect_language(text: str) -> str | None:
    """The language of a text; None if it is too short, not clear, or nothing can detect it."""
    sample = text[:LANGUAGE_SAMPLE]
    if sum(map(str.isalpha, sample)) < LANGUAGE_LETTERS:
        return None
    try:
        from py3langid import langid  # slow to import, and most files name their language
    except ImportError:
        return None
    (best, score), (_, next_score) = langid.rank(sample)[:2]
    return str(best) if score - next_score >= LANGUAGE_MARGIN else None


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
        self._guessed_by = ""
        known = {label.casefold(): role for label, role in overrides.items()}
        for turn in turns:
            role = known.get(turn.label.casefold()) or role_of(turn.label)
            if role is not None:
                self._roles[turn.label] = role
        customers = [label for label in self._roles if known.get(label.casefold()) == "customer"]
        self._doubtful = _speaking_as_agent(turns, customers)
        self._guess(turns)

    def role(self, label: str) -> Role:
        """The role of a label; `unknown` if it is neither known nor guessed."""
        return self._roles.get(label) or self.guessed.get(label) or "unknown"

    def notes(self) -> list[str]:
        """The guessed roles, and those set by the user that the words spoken contradict."""
        guessed = [
            f"role guessed from {self._guessed_by}: {label or 'no label'!r} is the {role}"
            for label, role in self.guessed.items()
        ]
        return [
            *guessed,
            *(
                f"{one!r} is the customer by --roles, but speaks as an agent"
                for one in self._doubtful
            ),
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
                self._guessed_by = "the other role"
            return
        agents = _speaking_as_agent(turns, unknown)
        if len(unknown) == 2 and len(agents) == 1:
            self._guessed_by = "the words spoken"
            for label in unknown:
                self.guessed[label] = "agent" if label in agents else "customer"


def _speaking_as_agent(turns: Iterable[RawTurn], labels: Sequence[str]) -> Sequence[str]:
    """Those of these speakers who use phrases of agents."""
    said = (turn for turn in turns if turn.label in labels) if labels else ()
    return [*dict.fromkeys(turn.label for turn in said if _AGENT_PHRASES.search(turn.text))]
