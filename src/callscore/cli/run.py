"""`callscore run`: call models, store every reply, score."""

from __future__ import annotations

import sys
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from callscore.cli.console import ignore_broken_pipe, say
from callscore.cli.options import (
    FILE,
    STORE,
    decide_option,
    engine_options,
    output_options,
    parse_numbers,
    parse_pairs,
    redact_options,
    redaction_choice,
    trust_option,
    weights_option,
)
from callscore.cli.purge import PurgeAfterRun
from callscore.cli.run_report import RunReport, publish_checks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from callscore.app import OutputPaths
    from callscore.cli.output import FormSummary
    from callscore.config.config import EvalConfig
    from callscore.config.redaction import RedactOptions
    from callscore.core.run import Event
    from callscore.core.scenarios import Mode
    from callscore.core.scorecard import CheckResult
    from callscore.evaluate.block_scoring import Workers
    from callscore.evaluate.scoring_pass import ScoringResult
    from callscore.results.run_index import RunIndex
    from callscore.runner.prepare import PreparedRun, RunOptions
    from callscore.runner.run import RunResult
    from callscore.store.address import StoreAddress


@click.command()
@click.argument("eval_file", metavar="EVAL.yaml", type=FILE)
@click.option("--resume", is_flag=True, help="Continue the unfinished run of this file.")
@engine_options
@click.option("--limit", type=click.IntRange(min=1), help="Only the first N cases (scenarios).")
@weights_option
@decide_option
@click.option(
    "--labels",
    multiple=True,
    type=FILE,
    help="Verdicts of people on a sample of judged items; they correct the judged values.",
)
@click.option("--budget", type=float, help="Stop before this many dollars are exceeded.")
@click.option(
    "--yes",
    is_flag=True,
    help="With --resume: start a new run if the file or its data have changed.",
)
@click.option(
    "--race", is_flag=True, help="Call models only until it is certain which one is best."
)
@click.option(
    "--finish-invalid", is_flag=True, help="In a race, also complete models that are invalid."
)
@click.option("--rescore", type=int, metavar="RUN", help="Score a stored run again; send nothing.")
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --rescore: processes that score; by default one per core for large data.",
)
@click.option("--dry-run", is_flag=True, help="Print the estimated cost; send nothing.")
@output_options
@click.option(
    "--mode",
    type=click.Choice(["standard", "compat"]),
    help="Score scenarios by the document or like the public evaluator; overrides the file.",
)
@click.option(
    "--export", type=FILE, metavar="DIR", help="Write replies to scenarios as *_out.json."
)
@click.option(
    "--trajectories",
    type=FILE,
    help="Write every step of scenarios: JSON lines, or Markdown (.md).",
)
@click.option(
    "--all-rows", is_flag=True, help="Show every row: details, and tasks that were not run."
)
@click.option("--no-intervals", is_flag=True, help="Leave out the 95 % interval of every number.")
@click.option("--junit", type=FILE, help="Write every gate as a test case of JUnit XML.")
@click.option("--store", type=STORE, help="Store replies here; overrides the file.")
@click.option(
    "--no-store-text", is_flag=True, help="Delete the replies from the store when the run ends."
)
@redact_options
@click.option("--log", type=FILE, help="Append one JSON line per event: replies, failed attempts.")
@click.option("--no-preflight", is_flag=True, help="Do not test each model with one request first.")
@trust_option
@click.option("--require-complete", is_flag=True, help="Exit with 3 unless every task is complete.")
def run(
    eval_file: Path,
    resume: bool,
    limit: int | None,
    weights: tuple[str, ...],
    decide: tuple[str, ...],
    labels: tuple[Path, ...],
    budget: float | None,
    yes: bool,
    race: bool,
    finish_invalid: bool,
    rescore: int | None,
    workers: int | None,
    dry_run: bool,
    targets: OutputPaths,
    json_file: Path | None,
    mode: Mode | None,
    export: Path | None,
    trajectories: Path | None,
    all_rows: bool,
    no_intervals: bool,
    junit: Path | None,
    store: StoreAddress | None,
    no_store_text: bool,
    redact: bool,
    names: Path | None,
    log: Path | None,
    no_preflight: bool,
    require_complete: bool,
    cluster: str | None,
) -> None:
    """Call the models of an eval file, store every reply, print the scores.

    Every paid reply is stored before it is used and never paid for again, not even after a crash or
    by a second run. Ctrl-C stops sending and waits for requests in flight; a second Ctrl-C drops
    them. --resume continues the run.

    \b
    callscore run eval.yaml --dry-run
    callscore run eval.yaml --budget 5 --json card.json
    """
    from callscore.runner.prepare import RunOptions

    tallies: list[ScoringResult] = []
    options = RunOptions(
        resume=resume,
        limit=limit,
        weights=parse_numbers("--weights", weights),
        labels=labels,
        budget_usd=_check_budget(budget),
        preflight=not no_preflight,
        unstored=no_store_text,
        accept_changed=yes,
        race=race,
        finish_invalid=finish_invalid,
        targets=targets,
        log=log,
        mode=mode,
        export=export,
        trajectories=trajectories,
        on_scoring_result=tallies.append,
        workers=_workers(workers, rescore, race=race),
        cluster=_cluster(cluster, rescore),
    )
    sending = not dry_run and rescore is None
    other = dry_run or (rescore is not None and bool(limit or weights or redact))
    config = _load_config(eval_file, store, redaction_choice(redact, names), no_intervals, decide)
    with (
        PurgeAfterRun(config.store, wanted=no_store_text and sending),
        RunReport(targets, config) as report,
        closing(_run_index(config, is_wanted=not (no_intervals or decide or other))) as index,
        _prepared(config, index.add_to(report.add_to(options)), rescore, sending) as prepared,
    ):
        if dry_run:
            _show_estimate(prepared)
            return
        again = _resume_command(prepared, store, redact, names, rescore)
        ran = _run(prepared, rescore, again)
        index.finish(prepared, ran)
        end = _RunEnd(json_file, junit, all_rows=all_rows, is_complete=require_complete)
        end.finish(prepared, ran, report, tallies)


@contextmanager
def _prepared(
    config: EvalConfig, options: RunOptions, rescore: int | None, sending: bool
) -> Iterator[PreparedRun]:
    """The run, with what people said in the app about its replies if it is a stored one."""
    import msgspec

    from callscore.runner.people import verdict_files, verdicts_of_people
    from callscore.runner.prepare import prepare
    from callscore.store.address import open_store

    with ExitStack() as stack:
        if rescore is not None:
            with open_store(config.store, only_reading=True) as store:
                people = verdicts_of_people(store, rescore, config)
            files = stack.enter_context(verdict_files(people.lines))
            options = msgspec.structs.replace(options, verdicts=(*options.verdicts, *files))
        yield stack.enter_context(closing(prepare(config, options, sending=sending)))


def _run_index(config: EvalConfig, *, is_wanted: bool) -> RunIndex:
    from callscore.results.run_index import RunIndex

    return RunIndex(config, is_wanted=is_wanted)


def _workers(number: int | None, rescore: int | None, *, race: bool) -> Workers:
    """The processes that score: one while models are called."""
    from callscore.evaluate.block_scoring import ONE_PROCESS, Workers

    if rescore is not None:
        if race:
            raise click.UsageError("--rescore sends nothing; expected it without --race")
        return Workers(number)
    if number is not None:
        raise click.UsageError("--workers is for stored runs; expected it with --rescore")
    return ONE_PROCESS


def _cluster(address: str | None, rescore: int | None) -> str | None:
    """The cluster whose nodes send requests, too."""
    if address is not None and rescore is not None:
        raise click.UsageError("--rescore sends nothing; expected it without --engine ray")
    return address


def _load_config(
    eval_file: Path,
    store: StoreAddress | None,
    redact: RedactOptions | None,
    no_intervals: bool,
    decide: tuple[str, ...],
) -> EvalConfig:
    from callscore.config.config import load_eval

    config = load_eval(eval_file, store, redact)
    read_as = parse_pairs("--decide", decide)
    return config.with_options(intervals=not no_intervals, decide=read_as)


def _resume_command(
    prepared: PreparedRun,
    store: StoreAddress | None,
    redact: bool,
    names: Path | None,
    rescore: int | None,
) -> str | None:
    """The command that goes on with the run; None if its replies are deleted."""
    from callscore.cli.run_text import resume_command

    if prepared.options.unstored:
        return None
    return resume_command(prepared, store, redact, names, rescore)


def _stop_if_interrupted(ran: RunResult, resume_command: str | None) -> None:
    if ran.summary.status == "interrupted":
        _print_summary(ran)
        if resume_command is None:
            say("The replies are deleted (--no-store-text); a later run pays for them.", err=True)
        else:
            say(f"All replies are stored. Continue with:  {resume_command}", err=True)
        raise KeyboardInterrupt


def _check_budget(budget: float | None) -> float | None:
    if budget is not None and not 0 <= budget < float("inf"):
        raise click.BadParameter("expected dollars, at least 0", param_hint="--budget")
    return budget


def _confirm(prepared: PreparedRun) -> PreparedRun:
    """Ask the user, if there is one, whether to pay for changed requests."""
    options = prepared.options
    if not options.resume or options.accept_changed or not sys.stdin.isatty():
        return prepared
    import msgspec

    from callscore.runner.changes import describe_change, find_change

    change = find_change(prepared)
    if change is None:
        return prepared
    say(f"{describe_change(change)}.", err=True)
    click.confirm("Start a new run?", abort=True, err=True)
    accepting = msgspec.structs.replace(options, accept_changed=True)
    return msgspec.structs.replace(prepared, options=accepting)


def _run(
    prepared: PreparedRun,
    stored_run: int | None,
    resume_command: str | None,
) -> RunResult:
    """Call the models, or score a stored run again."""
    from callscore.runner.run import rescore

    if prepared.config.gates:
        from callscore.comparison.run_gates import load_baselines

        load_baselines(prepared.config)  # an invalid file is an error before anything is sent
    ran = _call_models(_confirm(prepared)) if stored_run is None else rescore(prepared, stored_run)
    _stop_if_interrupted(ran, resume_command)
    return ran


def _call_models(prepared: PreparedRun) -> RunResult:
    from callscore.cli.run_progress import LiveView
    from callscore.runner.log import EventLog
    from callscore.runner.run import run_prepared

    view, log = LiveView(), prepared.options.log
    with ExitStack() as stack:
        stack.callback(view.close)
        written = stack.enter_context(EventLog(log)) if log is not None else None

        def on_event(event: Event) -> None:
            view(event)
            if written is not None:
                written(event)

        return run_prepared(prepared, on_event)


def _print_summary(ran: RunResult) -> None:
    from callscore.cli.run_text import (
        failure_lines,
        rescored_line,
        running_job_lines,
        summary_lines,
    )

    if ran.scored_again is not None:
        say(rescored_line(ran.scored_again), err=True)
        return
    lines = summary_lines(ran.run_id, ran.summary, ran.preflights)
    for line in [*lines, *failure_lines(ran.failures), *running_job_lines(ran.jobs)]:
        say(line, err=True)


def _show_estimate(prepared: PreparedRun) -> None:
    from callscore.cli.run_text import estimate_lines
    from callscore.report.safe_text import plain
    from callscore.runner.estimate import dry_run

    for line in estimate_lines(len(prepared.survey.ids), dry_run(prepared)):
        say(line)
    batches = [model.spec.name for model in prepared.models if model.spec.mode == "batch"]
    if batches:
        say(f"{', '.join(map(plain, batches))}: by the batch API, at half the price.")
    if prepared.budget_usd is not None and isinstance(prepared.config.scoring.judge, tuple):
        say("The budget is for models and judges together.")
    if prepared.config.scenario_settings.history == "own":
        say("The requests of history: own are among them: the most that its stop rules allow.")
    if prepared.options.race:
        say("A race sends at most these requests; models that are clearly worse get fewer.")
    if prepared.options.preflight:
        say("Before that, each model and judge is tested with one small request.")


@ignore_broken_pipe()
def _show(
    prepared: PreparedRun,
    ran: RunResult,
    json_file: Path | None,
    form: FormSummary,
    *,
    all_rows: bool,
) -> None:
    from callscore.cli import output
    from callscore.cli.orchestration import write_result_files
    from callscore.runner.document import run_document

    if (file_name := prepared.options.targets.card) is not None:
        output.write_bytes(file_name, run_document(ran))
        write_result_files(ran, file_name)
    _print_summary(ran)
    if json_file == output.STANDARD_OUTPUT:
        sys.stdout.buffer.write(run_document(ran))
        return
    is_race = prepared.options.race
    if ran.card is not None:
        title = f"{prepared.config.name} · {ran.card.title} {ran.card.framework}"
        is_last = is_race or not ran.has_only_scenarios
        output.print_card(ran.card, title, all_rows=all_rows, repeat_decision=is_last, form=form)
    if not is_race:  # documents of a race would lack the steps that it did not ask
        _show_scenarios(ran)


def _show_scenarios(ran: RunResult) -> None:
    """Print the results of scenarios; without calls, the decision closes them        C-138"""
    from callscore.cli import output
    from callscore.report.orchestration_terminal import (
        free_running_lines,
        model_table,
        result_text,
    )

    decided = ran.card if ran.has_only_scenarios else None
    for document in ran.documents.values():
        say()
        say(result_text(document))
        for line in free_running_lines(document):
            say(line)
    for line in model_table(ran.documents):
        say(line)
    for note in ran.notes if ran.card is None else ():
        say(note)
    if decided is not None:
        say()
        output.print_verdict(decided)


class _RunEnd(NamedTuple):
    """What a run shows, writes and checks at its end."""

    json_file: Path | None
    junit: Path | None
    all_rows: bool
    is_complete: bool
    """Whether a task without a score is an error."""

    def finish(
        self,
        prepared: PreparedRun,
        ran: RunResult,
        report: RunReport,
        tallies: Sequence[ScoringResult],
    ) -> None:
        """Show the scores, write the files, and raise unless every check passes."""
        _show(prepared, ran, self.json_file, report.form, all_rows=self.all_rows)
        report.write(prepared, ran)
        self._check(prepared, ran, tallies)

    def _check(
        self, prepared: PreparedRun, ran: RunResult, tallies: Sequence[ScoringResult]
    ) -> None:
        from callscore.cli import output
        from callscore.config.gates import raise_unless_passed
        from callscore.core.errors import Inconclusive

        if ran.summary.status == "unanswered":
            raise Inconclusive("every request failed; see the causes above")
        if ran.card is not None and ran.summary.status == "complete":
            output.require_verdicts(ran.card)
        checks: Sequence[CheckResult] = ()
        if prepared.config.gates:
            from callscore.comparison.run_gates import check_run

            checks = check_run(prepared.config, ran, tallies)
        publish_checks(checks, self.junit, prepared.config.name, ran.card)
        raise_unless_passed(checks)
        if self.is_complete and ran.card is not None:
            output.require_complete(ran.card)
