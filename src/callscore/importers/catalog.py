"""Every format that can be imported, the first that recognises a file reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from callscore.core.errors import DataError, UsageError
from callscore.importers import (
    amazon,
    chats,
    eval_sets,
    inspect_logs,
    labelled_text,
    platforms,
    recognisers,
    subtitles,
    table_calls,
)
from callscore.importers.assemble import Context
from callscore.importers.conversation import Conversation, Skipped
from callscore.importers.source import Source


class Format(msgspec.Struct, frozen=True):
    """A format: its name on the command line, its name for people, and its two functions."""

    name: str
    title: str
    matches: Callable[[Source], bool]
    read: Callable[[Source, Context], Iterator[Conversation | Skipped]]


def _read_vcon(source: Source, context: Context) -> Iterator[Conversation | Skipped]:
    return platforms.read_vcon(source, context, read)


FORMATS: Sequence[Format] = (
    Format("inspect", "Inspect log", inspect_logs.is_inspect, inspect_logs.read_inspect),
    Format("contact-lens", "Amazon Connect Contact Lens", amazon.is_contact_lens,
           amazon.read_contact_lens),
    Format("transcribe", "Amazon Transcribe", amazon.is_transcribe, amazon.read_transcribe),
    Format("google-cx-insights", "Google CX Insights", platforms.is_google, platforms.read_google),
    Format("genesys", "Genesys Cloud", platforms.is_genesys, platforms.read_genesys),
    Format("twilio", "Twilio Conversational Intelligence", platforms.is_twilio,
           platforms.read_twilio),
    Format("vcon", "IETF vCon", platforms.is_vcon, _read_vcon),
    Format("deepgram", "Deepgram", recognisers.is_deepgram, recognisers.read_deepgram),
    Format("assemblyai", "AssemblyAI", recognisers.is_assemblyai, recognisers.read_assemblyai),
    Format("azure", "Azure Speech", recognisers.is_azure, recognisers.read_azure),
    Format("retell", "Retell", chats.is_retell, chats.read_retell),
    Format("elevenlabs", "ElevenLabs", chats.is_elevenlabs, chats.read_elevenlabs),
    Format("whisper", "Whisper or WhisperX", recognisers.is_whisper, recognisers.read_whisper),
    Format("promptfoo", "promptfoo", eval_sets.is_promptfoo, eval_sets.read_promptfoo),
    Format("openai-evals", "OpenAI Evals", eval_sets.is_openai_evals, eval_sets.read_openai_evals),
    Format("deepeval", "DeepEval", eval_sets.is_deepeval, eval_sets.read_deepeval),
    Format("chat", "chat messages", chats.is_chat, chats.read_chat),
    Format("subtitles", "WebVTT or SRT", subtitles.is_subtitles, subtitles.read_subtitles),
    Format("table", "CSV or spreadsheet", table_calls.is_table_of_calls,
           table_calls.read_table_of_calls),
    Format("text", "text with speaker labels", labelled_text.is_labelled_text,
           labelled_text.read_labelled_text),
)  # fmt: skip


def format_named(name: str) -> Format:
    """The format of a name; raises UsageError for any other."""
    for one in FORMATS:
        if one.name == name:
            return one
    known = ", ".join(one.name for one in FORMATS)
    raise UsageError(f"{name!r} is no format; expected one of {known}")


def detect(source: Source) -> Format:
    """The format of a file by what it holds; raises DataError if none recognises it."""
    if not source.data.strip():
        raise DataError("is empty; expected a transcript", place=source.name)
    for one in FORMATS:
        if one.matches(source):
            return one
    raise DataError(
        "is in no known format; expected one of "
        + ", ".join(one.title for one in FORMATS)
        + " (`callscore import --format NAME` reads it as one of them)",
        place=source.name,
    )


def read(source: Source, context: Context) -> Iterator[Conversation | Skipped]:
    """The conversations of a file in whatever format it is."""
    return detect(source).read(source, context)
