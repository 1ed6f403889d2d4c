"""A program that uses the whole public API; it is checked by `make check`, never run.

`mypy --strict` must accept it. It must refuse what is marked: an ignored error that is none is an
error too.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import callscore
from callscore import Case, Embedder, Event, Judge, Metric, ModelScore, Provider, Reply, Suite, Task
from callscore.extension import (
    Answer,
    AttemptFailed,
    Band,
    BenchmarkLayer,
    CallDetails,
    CallLabels,
    CallTranscript,
    CaseView,
    Conversation,
    DataNames,
    EarlierReply,
    Failed,
    FailureKind,
    FakeReply,
    Faults,
    FloorTally,
    Gate,
    ImportContext,
    ImportFormat,
    Item,
    ItemCount,
    JudgeRequest,
    JudgeResult,
    Label,
    LabelItem,
    Labelling,
    Limits,
    Malformed,
    Measure,
    Measured,
    Message,
    MetricSpec,
    ModelSpec,
    NamesSource,
    Needs,
    Noise,
    Parsed,
    Price,
    Prompt,
    ProviderRequest,
    ProviderResponse,
    Question,
    Rating,
    RawTurn,
    RecordPart,
    ReportFormat,
    ReportOptions,
    ReportSource,
    ScenarioReader,
    ScoreSettings,
    Severity,
    Similarity,
    SkippedPart,
    Source,
    Spec,
    SpecSuite,
    StandaloneTask,
    Strategy,
    Threshold,
    Tool,
    ToolCall,
    Turn,
    Unjudged,
    Verdict,
    VerdictRules,
    Verdicts,
    build_conversation,
    plain,
    read_object,
)


def functions() -> callscore.Scorecard:
    config: Mapping[str, Any] = {"data": "cases.jsonl", "models": []}
    card = callscore.run("eval.yaml", budget_usd=5, resume=True)
    card = callscore.run(Path("eval.yaml"), on_event=on_event, mode="compat")
    card = callscore.run(config, intervals=False)
    card = callscore.score([{"id": "a"}], "outputs.jsonl", judge=MyJudge(), embedder=MyEmbedder())
    rows: list[dict[str, Any]] = card.to_rows()
    model: ModelScore = card.model("m")
    final: float | None = model.final.score
    comparison: callscore.Comparison = callscore.compare(card, "new.json", force=True)
    judge = {"name": "j", "provider": "openai", "model": "m"}
    card = callscore.score("cases.jsonl", judge=[judge], embedder=judge, trust_config=True)
    return card if rows and final and comparison.distinguishable else callscore.score("cases.jsonl")


def on_event(event: Event) -> None:
    assert event is not None


class MyProvider:
    def __init__(self, spec: ModelSpec) -> None:
        self.name = spec.name

    def request(self, prompt: Prompt, repeat: int) -> ProviderRequest:
        body = "".join(message.content for message in prompt.messages).encode()
        return ProviderRequest(b"%d" % repeat + body, self.name, body, 1, 1)

    async def attempt(self, request: ProviderRequest) -> ProviderResponse | AttemptFailed:
        if not request.body:
            return AttemptFailed("bad_request", "empty")
        return ProviderResponse(Reply("ok"))

    async def close(self) -> None:
        pass


class MyJudge:
    name = "mine"
    signature = "mine:1"

    async def judge(self, request: JudgeRequest) -> JudgeResult | Failed:
        if not request.questions:
            return Failed("judge", "nothing to judge")
        return JudgeResult([Verdict(each.metric, each.item, "yes") for each in request.questions])


class MyEmbedder:
    name = "mine"
    signature = "mine:1"

    def reads(self, lang: str | None) -> bool:
        return lang == "en"

    async def similarities(
        self, pairs: Sequence[tuple[str, str]], lang: str | None
    ) -> Sequence[Similarity] | Failed:
        return [Similarity(float(one == other), self.name) for one, other in pairs]


class MyTask(Task[str, str]):
    name = "greeting"

    def reference(self, case: Case) -> str:
        return str(case.expected_outcome["greeting"])

    def prompt(self, case: Case) -> Prompt:
        assert isinstance(case.transcript, str) or isinstance(case.transcript[0], Turn)
        return Prompt([Message("user", "How does the agent greet the customer?")])

    def prompt_after(self, case: Case, earlier: Sequence[EarlierReply]) -> Prompt:
        return Prompt([Message("user", one.text) for one in earlier])

    def read(self, reference: str, reply: Reply) -> str | Malformed:
        return str(reply.text) or Malformed("empty")

    def ask(self, reference: str, output: str) -> Sequence[Question]:
        return [Question("greeting.same", "greeting", output, reference, ("yes", "no"))]

    def measure(
        self,
        reference: str,
        output: str | Malformed,
        verdicts: Verdicts,
    ) -> Measured:
        return Measured({"greeting.same": Measure(float(output == reference))})


class MyStandaloneTask(StandaloneTask[str, str]):
    name, title, version = "tone", "Tone", "1"
    metrics = {"tone.same": MetricSpec("in-house", "Same", needs="judge")}
    weights = {"tone.same": 1.0}
    verdict_words = {"tone.same": ("yes", "no")}

    def reference(self, case: Case) -> str:
        return str(case.expected_outcome["tone"])

    def prompt(self, case: Case) -> Prompt:
        tool = Tool("answer", "Gives the tone.", {"type": "object"})
        return Prompt([Message("user", "Which tone?")], tools=[tool])

    def read(self, reference: str, reply: Reply) -> str | Malformed:
        parsed: Parsed | Malformed = read_object(reply)
        return parsed if isinstance(parsed, Malformed) else str(parsed.value["tone"])

    def measure(self, reference: str, output: str | Malformed, verdicts: Verdicts) -> Measured:
        given = verdicts.get(Item("tone.same", "tone"), ())
        return Measured({"tone.same": Measure(float(len(given)), len(given), 1)})

    def needs(self, reference: str, of_case: Verdicts) -> Needs:
        return Needs(judged=["tone.same"])

    def count_items(self, case: Case) -> ItemCount:
        return ItemCount(of_case=0, of_answer=1)

    def explain(self, reference: str, output: str | Malformed, verdicts: Verdicts) -> Faults:
        return {"tone.same": [f"expected {reference}"]}

    def degrade(self, outcome: dict[str, Any], noise: Noise) -> FakeReply | None:
        return FakeReply("", (ToolCall("answer", "{}"),)) if noise.wrong() else None


class MyMetric:
    slug = "qa.mine"
    version = "1"
    spec = MetricSpec("in-house", "Mine", bands=(Band(Rating.GOOD, ">=", 0.9),))

    def measure(self, case: Case, answer: Any, verdicts: Verdicts) -> Measure:
        return Measure(None, absence="undefined", why=case.id)


class MySettings(ScoreSettings, frozen=True, kw_only=True):
    lenient: bool = False


class MyFloor(FloorTally):
    def add(self, reference: Any) -> None:
        pass

    def __iadd__(self, later: Self) -> Self:
        return self

    def strategies(self) -> Sequence[Strategy]:
        return [Strategy("always the same words", {"greeting.same": 0.5})]


class MyLabelling:
    accepts_form = False
    requires = "a list of tones"

    def items(self, call: CallTranscript, config: Mapping[str, Any]) -> Sequence[LabelItem]:
        return [LabelItem(call.name, "tone", "tone", "Which tone?", ("rude", "polite"))]

    def expected_outcome(
        self, call: CallTranscript, labels: CallLabels, config: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        label: Label = labels["tone", "tone"]
        return {"tone": label.answer}


class MySuite(SpecSuite):
    name, title = "mine", "Mine"
    spec_file = Path("spec.toml")
    task_types = (MyTask,)
    settings_type = MySettings
    scenario_files = "*.txt"

    def task(self, name: str, settings: ScoreSettings, names: DataNames = tuple) -> Task[Any, Any]:
        return super().task(name, settings, names)

    def names_in(self, line: bytes) -> Sequence[str]:
        spec: Spec = self.spec
        return spec.tasks

    def read_scenario(self, name: str, text: str) -> Iterable[Mapping[str, Any]]:
        return [{"id": f"{name}#{number}"} for number, _ in enumerate(text.splitlines())]


class MyRichTask(MyTask):
    def labelling(self) -> Labelling:
        return MyLabelling()

    def floor(self) -> FloorTally:
        return MyFloor()

    def benchmarks(self) -> BenchmarkLayer | None:
        return None

    def record_part(self, slug: str) -> RecordPart:
        return RecordPart(("greeting",))


RULES = VerdictRules(words={"greeting.same": ("yes", "no")})
STRICT = MetricSpec(
    "in-house",
    "Strict",
    threshold=Threshold(">= 0.9", ">=", 0.9),
    gate=Gate("rate", "<", 0.5),
    severities=(Severity("severe", "<", 0.1),),
)
UNJUDGED = JudgeResult([], void=[Unjudged(Item("greeting.same", "greeting"), "no reply")])
CHEAP = ModelSpec("m", "mine", "v1", price=Price(1.0, 2.0), limits=Limits(concurrency=2))
REFUSED: FailureKind = "bad_request"


def write(source: ReportSource, options: ReportOptions) -> list[bytes]:
    return [line.encode() for view in source.cases for line in _lines(view)]


def _lines(view: CaseView) -> list[str]:
    answers: Sequence[Answer] = view.answers
    return [plain(f"{view.case.id} {answer.model}") for answer in answers]


FORMAT = ReportFormat("mine", ".txt", "ids", write)


def read_calls(source: Source, context: ImportContext) -> Iterator[Conversation | SkippedPart]:
    turns = [RawTurn("agent", line, start=0.5) for line in source.text.splitlines()]
    yield from build_conversation("mine", turns, CallDetails("c7"), context)


CALLS = ImportFormat("mine", "my calls", lambda source: source.text != "", read_calls)


def protocols() -> None:
    provider: Provider = MyProvider(ModelSpec("m", "mine", "v1"))
    judge: Judge = MyJudge()
    embedder: Embedder = MyEmbedder()
    task: Task[str, str] = MyRichTask()
    metric: Metric = MyMetric()
    suite: Suite = MySuite()
    names: NamesSource = MySuite()
    scenarios: ScenarioReader = MySuite()
    alone: Task[str, str] = MyStandaloneTask()
    assert provider and judge and embedder and task and metric and suite and names and alone
    assert scenarios
    version: str = callscore.__version__
    assert version


def errors(path: Path) -> int:
    try:
        callscore.score(path)
    except callscore.DataError as error:
        return len(error.place)
    except (callscore.ConfigError, callscore.UsageError, callscore.CallscoreError) as error:
        return error.exit_code
    return 0


def refused() -> None:
    callscore.score("cases.jsonl", juge="offline")  # type: ignore[call-arg]
    callscore.run("eval.yaml", budget_usd="5")  # type: ignore[arg-type]
    callscore.run(7)  # type: ignore[arg-type]
    callscore.no_such_name  # type: ignore[attr-defined]
    callscore.Measure  # type: ignore[attr-defined]
    callscore.compare("a", "b", forced=True)  # type: ignore[call-arg]
    callscore.score("cases.jsonl").models[0].finale  # type: ignore[attr-defined]
    provider: Provider = MyJudge()  # type: ignore[assignment]
    judge: Judge = MyProvider(ModelSpec("m", "mine", "v1"))  # type: ignore[assignment]
    callscore.score("cases.jsonl", judge=MyEmbedder())  # type: ignore[arg-type]
    AttemptFailed("tired", "no such kind")  # type: ignore[arg-type]
    text: str = callscore.score("cases.jsonl")  # type: ignore[assignment]
