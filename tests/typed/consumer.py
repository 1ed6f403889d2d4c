"""A program that uses the whole public API; `mypy --strict` must accept it, and refuse what is
marked `# error:`. It is checked against the installed package, never run.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import callscore
from callscore import Case, Embedder, Event, Judge, Metric, ModelScore, Provider, Reply, Suite, Task
from callscore.extension import (
    AttemptFailed,
    Band,
    Failed,
    JudgeRequest,
    JudgeResult,
    Malformed,
    Measure,
    Measured,
    Message,
    MetricSpec,
    ModelSpec,
    Prompt,
    ProviderRequest,
    ProviderResponse,
    Question,
    Rating,
    ReportFormat,
    ReportOptions,
    ReportSource,
    Similarity,
    SpecSuite,
    Turn,
    Verdict,
    Verdicts,
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


class MyMetric:
    slug = "qa.mine"
    version = "1"
    spec = MetricSpec("in-house", "Mine", bands=(Band(Rating.GOOD, ">=", 0.9),))

    def measure(self, case: Case, answer: Any, verdicts: Verdicts) -> Measure:
        return Measure(None, absence="undefined", why=case.id)


class MySuite(SpecSuite):
    name, title = "mine", "Mine"
    spec_file = Path("spec.toml")
    task_types = (MyTask,)


def write(source: ReportSource, options: ReportOptions) -> list[bytes]:
    return [view.case.id.encode() for view in source.cases if not options.without_text]


FORMAT = ReportFormat("mine", ".txt", "ids", write)


def protocols() -> None:
    provider: Provider = MyProvider(ModelSpec("m", "mine", "v1"))
    judge: Judge = MyJudge()
    embedder: Embedder = MyEmbedder()
    task: Task[str, str] = MyTask()
    metric: Metric = MyMetric()
    suite: Suite = MySuite()
    assert provider and judge and embedder and task and metric and suite


def errors(path: Path) -> int:
    try:
        callscore.score(path)
    except callscore.DataError as error:
        return len(error.place)
    except (callscore.ConfigError, callscore.UsageError, callscore.CallscoreError) as error:
        return error.exit_code
    return 0


def refused() -> None:
    callscore.score("cases.jsonl", juge="offline")  # error: call-arg
    callscore.run("eval.yaml", budget_usd="5")  # error: arg-type
    callscore.run(7)  # error: arg-type
    callscore.no_such_name  # error: attr-defined
    callscore.Measure  # error: attr-defined
    callscore.compare("a", "b", forced=True)  # error: call-arg
    callscore.score("cases.jsonl").models[0].finale  # error: attr-defined
    provider: Provider = MyJudge()  # error: assignment
    judge: Judge = MyProvider(ModelSpec("m", "mine", "v1"))  # error: assignment
    callscore.score("cases.jsonl", judge=MyEmbedder())  # error: arg-type
    AttemptFailed("tired", "no such kind")  # error: arg-type
    text: str = callscore.score("cases.jsonl")  # error: assignment
