"""What extensions are made of: the types for packages that add something to Callscore.

The protocols themselves (`Task`, `Suite`, `Metric`, `Provider`, `Judge`, `Embedder`) are in
`callscore`; this module has what their methods take and return, and what implements parts of them.
The pages in `docs/extending` show one package of each kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from callscore.core.case import Failed, Malformed, Message, Prompt, Tool, ToolCall, Turn
    from callscore.core.judging import (
        Item,
        JudgeRequest,
        JudgeResult,
        Question,
        Similarity,
        Unjudged,
        Verdict,
        Verdicts,
    )
    from callscore.core.labelling import CallLabels, CallTranscript, Label, LabelItem, Labelling
    from callscore.core.measure import Measure
    from callscore.core.noise import FakeReply, Noise
    from callscore.core.provider import (
        AttemptFailed,
        FailureKind,
        ProviderRequest,
        ProviderResponse,
    )
    from callscore.core.run import Limits, ModelSpec, Price
    from callscore.core.spec import (
        Band,
        Gate,
        MetricSpec,
        Rating,
        ScoreSettings,
        Severity,
        Spec,
        Threshold,
    )
    from callscore.core.strict_json import Parsed, read_object
    from callscore.core.suite import DataNames, NamesSource, ScenarioReader, StandaloneTask
    from callscore.core.task import (
        BenchmarkLayer,
        EarlierReply,
        Faults,
        FloorTally,
        ItemCount,
        Measured,
        Needs,
        RecordPart,
        Strategy,
    )
    from callscore.core.verdict_rules import VerdictRules
    from callscore.importers.conversation import (
        CallDetails,
        Conversation,
        ImportContext,
        RawTurn,
        SkippedPart,
        build_conversation,
    )
    from callscore.importers.formats import ImportFormat
    from callscore.importers.source_file import Source
    from callscore.report.safe_text import plain
    from callscore.report.source import Answer, CaseView, ReportFormat, ReportOptions, ReportSource
    from callscore.scorecard.spec_suite import SpecSuite

__all__ = [
    "Answer",
    "AttemptFailed",
    "Band",
    "BenchmarkLayer",
    "CallDetails",
    "CallLabels",
    "CallTranscript",
    "CaseView",
    "Conversation",
    "DataNames",
    "EarlierReply",
    "Failed",
    "FailureKind",
    "FakeReply",
    "Faults",
    "FloorTally",
    "Gate",
    "ImportContext",
    "ImportFormat",
    "Item",
    "ItemCount",
    "JudgeRequest",
    "JudgeResult",
    "Label",
    "LabelItem",
    "Labelling",
    "Limits",
    "Malformed",
    "Measure",
    "Measured",
    "Message",
    "MetricSpec",
    "ModelSpec",
    "NamesSource",
    "Needs",
    "Noise",
    "Parsed",
    "Price",
    "Prompt",
    "ProviderRequest",
    "ProviderResponse",
    "Question",
    "Rating",
    "RawTurn",
    "RecordPart",
    "ReportFormat",
    "ReportOptions",
    "ReportSource",
    "ScenarioReader",
    "ScoreSettings",
    "Severity",
    "Similarity",
    "SkippedPart",
    "Source",
    "Spec",
    "SpecSuite",
    "StandaloneTask",
    "Strategy",
    "Threshold",
    "Tool",
    "ToolCall",
    "Turn",
    "Unjudged",
    "Verdict",
    "VerdictRules",
    "Verdicts",
    "build_conversation",
    "plain",
    "read_object",
]

_MODULES = {
    "core.case": ("Failed", "Malformed", "Message", "Prompt", "Tool", "ToolCall", "Turn"),
    "core.judging": (
        "Item",
        "JudgeRequest",
        "JudgeResult",
        "Question",
        "Similarity",
        "Unjudged",
        "Verdict",
        "Verdicts",
    ),
    "core.labelling": ("CallLabels", "CallTranscript", "Label", "LabelItem", "Labelling"),
    "core.measure": ("Measure",),
    "core.noise": ("FakeReply", "Noise"),
    "core.provider": ("AttemptFailed", "FailureKind", "ProviderRequest", "ProviderResponse"),
    "core.run": ("Limits", "ModelSpec", "Price"),
    "core.spec": (
        "Band",
        "Gate",
        "MetricSpec",
        "Rating",
        "ScoreSettings",
        "Severity",
        "Spec",
        "Threshold",
    ),
    "core.strict_json": ("Parsed", "read_object"),
    "core.suite": ("DataNames", "NamesSource", "ScenarioReader", "StandaloneTask"),
    "core.task": (
        "BenchmarkLayer",
        "EarlierReply",
        "Faults",
        "FloorTally",
        "ItemCount",
        "Measured",
        "Needs",
        "RecordPart",
        "Strategy",
    ),
    "core.verdict_rules": ("VerdictRules",),
    "importers.conversation": (
        "CallDetails",
        "Conversation",
        "ImportContext",
        "RawTurn",
        "SkippedPart",
        "build_conversation",
    ),
    "importers.formats": ("ImportFormat",),
    "importers.source_file": ("Source",),
    "report.safe_text": ("plain",),
    "report.source": ("Answer", "CaseView", "ReportFormat", "ReportOptions", "ReportSource"),
    "scorecard.spec_suite": ("SpecSuite",),
}


if not TYPE_CHECKING:  # a type checker would take every name for an existing one

    def __getattr__(name: str) -> object:
        from callscore.core.lazy import load_name

        return load_name(globals(), _MODULES, name)


def __dir__() -> list[str]:
    return [*__all__, "__all__", "__doc__", "__file__", "__name__"]
