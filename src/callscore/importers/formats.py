"""All formats that can be imported, in the order in which files are compared with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

import msgspec

from callscore.core.errors import DataError, UsageError
from callscore.importers import (
    amazon,
    eval_sets,
    inspect_logs,
    json_lines,
    labelled_text,
    platforms,
    speech_to_text,
    subtitles,
    table_calls,
    turn_lists,
    voice_agents,
)
from callscore.importers.conversation import Conversation, SkippedPart
from callscore.importers.conversation_builder import ImportContext
from callscore.importers.source import Source
from callscore.importers.tables import read_tables


class Format(msgspec.Struct, frozen=True):
    """A file format: how it is named, detected and read."""

    name: str
    """As in `--format`."""
    title: str
    """As in output and messages."""
    matches: Callable[[Source], bool]
    read: Callable[[Source, ImportContext], Iterator[Conversation | SkippedPart]]


def _read_vcon(source: Source, context: ImportContext) -> Iterator[Conversation | SkippedPart]:
    return platforms.read_vcon(source, context, read_any_format)


FORMATS: Sequence[Format] = (
    Format("callscore", "transcripts or cases of Callscore", json_lines.is_own,
           json_lines.read_own),
    Format("inspect", "Inspect log", inspect_logs.is_inspect, inspect_logs.read_inspect),
    Format("contact-lens", "Amazon Connect Contact Lens", amazon.is_contact_lens,
           amazon.read_contact_lens),
    Format("transcribe", "Amazon Transcribe", amazon.is_transcribe, amazon.read_transcribe),
    Format("post-call-analytics", "AWS Post Call Analytics", amazon.is_post_call_analytics,
           amazon.read_post_call_analytics),
    Format("bedrock-data-automation", "Bedrock Data Automation", amazon.is_bedrock_automation,
           amazon.read_bedrock_automation),
    Format("google-cx-insights", "Google CX Insights", platforms.is_google, platforms.read_google),
    Format("genesys", "Genesys Cloud", platforms.is_genesys, platforms.read_genesys),
    Format("twilio", "Twilio Conversational Intelligence", platforms.is_twilio,
           platforms.read_twilio),
    Format("vcon", "IETF vCon", platforms.is_vcon, _read_vcon),
    Format("gong", "Gong", platforms.is_gong, platforms.read_gong),
    Format("speechmatics", "Speechmatics", speech_to_text.is_speechmatics,
           speech_to_text.read_speechmatics),
    Format("deepgram", "Deepgram", speech_to_text.is_deepgram, speech_to_text.read_deepgram),
    Format("assemblyai", "AssemblyAI", speech_to_text.is_assemblyai,
           speech_to_text.read_assemblyai),
    Format("azure", "Azure Speech", speech_to_text.is_azure, speech_to_text.read_azure),
    Format("retell", "Retell", voice_agents.is_retell, voice_agents.read_retell),
    Format("elevenlabs", "ElevenLabs", voice_agents.is_elevenlabs, voice_agents.read_elevenlabs),
    Format("vapi", "Vapi", voice_agents.is_vapi, voice_agents.read_vapi),
    Format("livekit", "LiveKit session report", voice_agents.is_livekit,
           voice_agents.read_livekit),
    Format("openai-realtime", "OpenAI Realtime", voice_agents.is_realtime,
           voice_agents.read_realtime),
    Format("whisper", "Whisper or WhisperX", speech_to_text.is_whisper,
           speech_to_text.read_whisper),
    Format("promptfoo", "promptfoo", eval_sets.is_promptfoo, eval_sets.read_promptfoo),
    Format("openai-evals", "OpenAI Evals", eval_sets.is_openai_evals, eval_sets.read_openai_evals),
    Format("deepeval", "DeepEval", eval_sets.is_deepeval, eval_sets.read_deepeval),
    Format("chat", "chat messages", turn_lists.is_chat,
           turn_lists.read_turn_lists),
    Format("subtitles", "WebVTT or SRT", subtitles.is_subtitles, subtitles.read_subtitles),
    Format("turns", "list of turns", turn_lists.is_turn_lists, turn_lists.read_turn_lists),
    Format("table", "CSV or spreadsheet", table_calls.is_table_of_calls,
           table_calls.read_table_of_calls),
    Format("text", "text with speaker labels", labelled_text.is_labelled_text,
           labelled_text.read_labelled_text),
)  # fmt: skip


def find_format(name: str) -> Format:
    """The format with this name; raises UsageError if there is none."""
    for format_ in FORMATS:
        if format_.name == name:
            return format_
    known = ", ".join(format_.name for format_ in FORMATS)
    raise UsageError(f"{name!r} is not a format; expected one of {known}")


def detect_format(source: Source) -> Format:
    """The format of a file, by its content; raises DataError if none matches."""
    if not source.data.strip():
        raise DataError("is empty; expected a transcript", place=source.name)
    problem: DataError | None = None
    for format_ in FORMATS:
        try:
            if format_.matches(source):
                return format_
        except DataError as error:  # a broken table may be text with commas and quotes
            problem = problem or error
    if problem is not None:
        raise problem
    raise DataError(
        "has an unknown format; expected one of "
        + ", ".join(format_.title for format_ in FORMATS)
        + f" (`callscore import --format NAME` reads it as one of them){_hint(source)}",
        place=source.name,
    )


def _hint(source: Source) -> str:
    """The columns or keys of a file, which `--map` can name."""
    with suppress(DataError):
        names = [*source.objects[:1]] or [row.cells for one in read_tables(source) for row in
                                          one.rows[:1]]  # fmt: skip
        keys = [str(key) for key in names[0]] if names and isinstance(names[0], dict) else []
        if keys:
            shown = ", ".join(map(repr, keys[:12])) + (", …" if len(keys) > 12 else "")
            return f"; its fields: {shown}; --map text=NAME,speaker=NAME reads a list of turns"
    return ""


def read_any_format(source: Source, context: ImportContext) -> Iterator[Conversation | SkippedPart]:
    """Read a file of any format."""
    return detect_format(source).read(source, context)
