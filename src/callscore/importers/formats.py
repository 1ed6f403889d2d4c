"""All formats that can be imported, in the order in which files are compared with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial

import msgspec

from callscore.core.errors import DataError, UsageError
from callscore.core.plugins import (
    Group,
    PluginError,
    guarded,
    load_plugin,
    plugin_errors,
    plugin_names,
    wrong_result,
)
from callscore.importers import (
    amazon,
    eval_sets,
    inspect_log,
    json_lines,
    labelled_text,
    platforms,
    speech_to_text,
    subtitles,
    table_calls,
    turn_lists,
    voice_agents,
)
from callscore.importers.conversation import (
    Conversation,
    ImportContext,
    ImportIterator,
    SkippedPart,
)
from callscore.importers.source_file import Source
from callscore.importers.tables import read_tables

GROUP: Group = "callscore.importers"
"""The entry point group in which a package registers an `ImportFormat`."""


class ImportFormat(msgspec.Struct, frozen=True):
    """A file format: how it is named, detected and read."""

    name: str
    """As in `--format`."""
    title: str
    """As in output and messages."""
    matches: Callable[[Source], bool]
    read: Callable[[Source, ImportContext], Iterator[Conversation | SkippedPart]]


def _read_vcon(source: Source, context: ImportContext) -> Iterator[Conversation | SkippedPart]:
    return platforms.read_vcon(source, context, read_any_format)


FORMATS: Sequence[ImportFormat] = (
    ImportFormat(
        "callscore", "transcripts or cases of Callscore", json_lines.is_own, json_lines.read_own
    ),
    ImportFormat("inspect", "Inspect log", inspect_log.is_inspect, eval_sets.read_inspect),
    ImportFormat(
        "contact-lens",
        "Amazon Connect Contact Lens",
        amazon.is_contact_lens,
        amazon.read_contact_lens,
    ),
    ImportFormat("transcribe", "Amazon Transcribe", amazon.is_transcribe, amazon.read_transcribe),
    ImportFormat(
        "post-call-analytics",
        "AWS Post Call Analytics",
        amazon.is_post_call_analytics,
        amazon.read_post_call_analytics,
    ),
    ImportFormat(
        "bedrock-data-automation",
        "Bedrock Data Automation",
        amazon.is_bedrock_automation,
        amazon.read_bedrock_automation,
    ),
    ImportFormat(
        "google-cx-insights", "Google CX Insights", platforms.is_google, platforms.read_google
    ),
    ImportFormat("genesys", "Genesys Cloud", platforms.is_genesys, platforms.read_genesys),
    ImportFormat(
        "twilio", "Twilio Conversational Intelligence", platforms.is_twilio, platforms.read_twilio
    ),
    ImportFormat("vcon", "IETF vCon", platforms.is_vcon, _read_vcon),
    ImportFormat("gong", "Gong", platforms.is_gong, platforms.read_gong),
    ImportFormat(
        "speechmatics",
        "Speechmatics",
        speech_to_text.is_speechmatics,
        speech_to_text.read_speechmatics,
    ),
    ImportFormat("deepgram", "Deepgram", speech_to_text.is_deepgram, speech_to_text.read_deepgram),
    ImportFormat(
        "assemblyai", "AssemblyAI", speech_to_text.is_assemblyai, speech_to_text.read_assemblyai
    ),
    ImportFormat("azure", "Azure Speech", speech_to_text.is_azure, speech_to_text.read_azure),
    ImportFormat("retell", "Retell", voice_agents.is_retell, voice_agents.read_retell),
    ImportFormat(
        "elevenlabs", "ElevenLabs", voice_agents.is_elevenlabs, voice_agents.read_elevenlabs
    ),
    ImportFormat("vapi", "Vapi", voice_agents.is_vapi, voice_agents.read_vapi),
    ImportFormat(
        "livekit", "LiveKit session report", voice_agents.is_livekit, voice_agents.read_livekit
    ),
    ImportFormat(
        "openai-realtime", "OpenAI Realtime", voice_agents.is_realtime, voice_agents.read_realtime
    ),
    ImportFormat(
        "whisper", "Whisper or WhisperX", speech_to_text.is_whisper, speech_to_text.read_whisper
    ),
    ImportFormat("promptfoo", "promptfoo", eval_sets.is_promptfoo, eval_sets.read_promptfoo),
    ImportFormat(
        "openai-evals", "OpenAI Evals", eval_sets.is_openai_evals, eval_sets.read_openai_evals
    ),
    ImportFormat("deepeval", "DeepEval", eval_sets.is_deepeval, eval_sets.read_deepeval),
    ImportFormat("chat", "chat messages", turn_lists.is_chat, turn_lists.read_turn_lists),
    ImportFormat("subtitles", "WebVTT or SRT", subtitles.is_subtitles, subtitles.read_subtitles),
    ImportFormat("turns", "list of turns", turn_lists.is_turn_lists, turn_lists.read_turn_lists),
    ImportFormat(
        "table",
        "CSV or spreadsheet",
        table_calls.is_table_of_calls,
        table_calls.read_table_of_calls,
    ),
    ImportFormat(
        "text",
        "text with speaker labels",
        labelled_text.is_labelled_text,
        labelled_text.read_labelled_text,
    ),
)


def all_formats() -> Sequence[ImportFormat]:
    """The formats of installed packages, then the built-in ones."""
    return [*_installed_formats(), *FORMATS]


@cache
def _installed_formats() -> Sequence[ImportFormat]:
    names = plugin_names(GROUP)
    for name in names:
        if any(format_.name == name for format_ in FORMATS):
            raise PluginError(f"import format {name!r} is built in; expected another name")
    return [_check_plugin(name, load_plugin(GROUP, name)) for name in names]


def _check_plugin(name: str, loaded: object) -> ImportFormat:
    if not isinstance(loaded, ImportFormat):
        raise PluginError(
            f"import format {name!r} is a {type(loaded).__name__}; expected a "
            "callscore.extension.ImportFormat"
        )
    matches = guarded(loaded.matches, f"import format {name!r}: matches()", None)
    return msgspec.structs.replace(
        loaded, name=name, matches=matches, read=partial(_read_plugin, loaded)
    )


def _read_plugin(format_: ImportFormat, source: Source, context: ImportContext) -> ImportIterator:
    """What a format of another package reads; raises PluginError."""
    what = f"import format {format_.name!r}: read()"
    with plugin_errors(what):
        for part in format_.read(source, context):
            if not isinstance(part, Conversation | SkippedPart):
                raise wrong_result(what, part, "Conversation and SkippedPart objects")
            yield part


def find_format(name: str) -> ImportFormat:
    """The format with this name; raises UsageError if there is none."""
    formats = all_formats()
    for format_ in formats:
        if format_.name == name:
            return format_
    known = ", ".join(format_.name for format_ in formats)
    raise UsageError(f"{name!r} is not a format; expected one of {known}")


ARCHIVE = b"PK\x03\x04"
"""The beginning of a ZIP archive; documents and spreadsheets are archives, too."""
_DOCUMENT = "save it as plain text (.txt) with one turn per line"
_RECORDING = "is a recording; expected its transcript"
NO_TRANSCRIPTS: Sequence[tuple[bytes, bytes, str]] = (
    (ARCHIVE, b"word/document.xml", f"is a Word document; {_DOCUMENT}"),
    (ARCHIVE, b"opendocument.text", f"is a text document (ODT); {_DOCUMENT}"),
    (b"%PDF", b"", f"is a PDF; {_DOCUMENT}"),
    (b"RIFF", b"WAVE", _RECORDING),
    (b"ID3", b"", _RECORDING),
    (b"OggS", b"", _RECORDING),
    (b"fLaC", b"", _RECORDING),
)
"""What files begin with and contain that are not transcripts, and what to do."""


def detect_format(source: Source) -> ImportFormat:
    """The format of a file, by its content; raises DataError if none matches."""
    if not source.data.strip():
        raise DataError("is empty; expected a transcript", place=source.name)
    problem: DataError | None = None
    for format_ in all_formats():
        try:
            if format_.matches(source):
                return format_
        except DataError as error:  # a broken table may be text with commas and quotes
            problem = problem or error
    for beginning, content, remedy in NO_TRANSCRIPTS:
        if source.data.startswith(beginning) and content in source.data:
            raise DataError(remedy, place=source.name)
    if problem is not None:
        raise problem
    if source.data.startswith(ARCHIVE):
        raise DataError("is a ZIP archive; unpack it: expected its files", place=source.name)
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
