"""What holds for every store: `Store` and `RunLedger` of `callscore.store.protocol`."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from callscore.core.case import Failed
from callscore.core.errors import StoreError, UsageError
from callscore.store.address import StoreAddress, open_store
from callscore.store.protocol import RunLedger, Store
from command_server import NEVER_S
from run_cases import HEADER, cached_reply_for, item_for, work_for


def keep(run: RunLedger, *numbers: int) -> None:
    async def all_at_once() -> None:
        jobs = (run.keep(item_for(n, paid=True), cached_reply_for(n)) for n in numbers)
        await asyncio.gather(*jobs)

    asyncio.run(all_at_once())


def test_a_kept_answer_is_found_by_its_key_in_every_later_run(
    store: Store, address: StoreAddress
) -> None:
    run = store.open_run(HEADER)
    keep(run, 1)
    run.end("complete")
    with open_store(address) as later:
        assert later.find_reply(work_for(1).request.key) == cached_reply_for(1)
        assert later.find_reply(work_for(2).request.key) is None


def test_the_first_answer_stays_when_another_run_pays_once_more(store: Store) -> None:
    run = store.open_run(HEADER)
    keep(run, 1)
    assert not run.superseded
    other = store.open_run(msgspec.structs.replace(HEADER, name="another"))
    asyncio.run(other.keep(item_for(1), cached_reply_for(1, text="a second answer")))
    assert other.superseded
    other.end("complete")
    run.end("complete")
    assert store.find_reply(work_for(1).request.key) == cached_reply_for(1)


def test_answers_of_judges_are_durable_and_paid_by_their_run(
    store: Store, address: StoreAddress
) -> None:
    run = store.open_run(HEADER)

    async def all_at_once() -> None:
        kept = await asyncio.gather(
            *(run.keep_judge_reply(cached_reply_for(n), run.id) for n in (1, 2))
        )
        assert kept == [cached_reply_for(1), cached_reply_for(2)]

    asyncio.run(all_at_once())
    with open_store(address) as other:
        assert other.find_reply(work_for(2).request.key) == cached_reply_for(2)
        assert (other.run(run.id).judge_usd, other.run(run.id).cost_usd) == (1.0, 0.0)
    run.end("complete")


def test_judges_that_work_for_no_run_keep_their_answers_too(store: Store) -> None:
    with store.open_cache() as answers:
        assert asyncio.run(answers.keep_judge_reply(cached_reply_for(1))) == cached_reply_for(1)
        assert answers.find_reply(work_for(1).request.key) == cached_reply_for(1)
    assert store.runs() == []


def test_a_judge_goes_by_the_answer_that_was_there_first(store: Store) -> None:
    with store.open_cache() as slow, store.open_cache() as fast:
        asyncio.run(fast.keep_judge_reply(cached_reply_for(1)))
        later = cached_reply_for(1, text="a second answer")
        assert asyncio.run(slow.keep_judge_reply(later)) == cached_reply_for(1)


def test_a_run_gives_back_answers_and_failures_by_case(store: Store) -> None:
    run = store.open_run(HEADER)
    keep(run, 1)
    asyncio.run(run.note(item_for(2, error="HTTP 500")))
    run.end("complete")
    assert store.replies_to(run.id, "case-1") == {"m": {1: cached_reply_for(1).reply}}
    assert store.replies_to(run.id, "case-2") == {"m": {1: Failed("model", "HTTP 500")}}
    assert store.replies_to(run.id, "case-3") == {}


def test_a_failure_gives_way_to_an_answer_but_never_the_reverse(store: Store) -> None:
    run = store.open_run(HEADER)
    asyncio.run(run.note(item_for(1, error="HTTP 500")))
    keep(run, 1)
    assert not run.superseded
    asyncio.run(run.note(item_for(1, error="HTTP 500")))
    run.end("interrupted")
    assert run.superseded
    assert store.replies_to(run.id, "case-1") == {"m": {1: cached_reply_for(1).reply}}


def test_a_run_is_listed_with_status_coverage_and_cost(store: Store) -> None:
    run = store.open_run(HEADER)
    keep(run, 1, 2, 3)
    free = cached_reply_for(4, cost_usd=None)
    asyncio.run(run.keep(item_for(4, paid=True), free))
    asyncio.run(run.note(item_for(5, error="timeout")))
    assert store.run(run.id).status == "running"
    run.end("budget")
    (record,) = store.runs()
    assert (record.status, record.answered, record.failed) == ("budget", 4, 1)
    assert (record.coverage, record.cost_usd, record.unpriced) == (0.4, 1.5, 1)


def test_answers_that_were_there_cost_a_second_run_nothing(store: Store) -> None:
    first = store.open_run(HEADER)
    keep(first, 1)
    first.end("complete")
    second = store.open_run(HEADER)
    asyncio.run(second.note(item_for(1)))
    second.end("complete")
    assert [record.cost_usd for record in store.runs()] == [0.0, 0.5]


def test_a_resumed_run_still_knows_what_it_paid(store: Store) -> None:
    first = store.open_run(HEADER)
    keep(first, 1)
    first.end("interrupted")
    again = store.open_run(HEADER, resume=True)
    asyncio.run(again.note(item_for(1)))
    again.end("complete")
    assert again.id == first.id
    assert store.run(again.id).cost_usd == 0.5


def test_resuming_starts_a_run_where_none_is_unfinished(store: Store) -> None:
    first = store.open_run(HEADER, resume=True)
    first.end("complete")
    second = store.open_run(HEADER, resume=True)
    second.end("complete")
    assert second.id != first.id


def test_changed_data_is_not_resumed(store: Store) -> None:
    store.open_run(HEADER).end("interrupted")
    changed = type(HEADER)(HEADER.name, HEADER.config_hash, "data-2", 10)
    with pytest.raises(UsageError, match="the data has changed"):
        store.open_run(changed, resume=True)


def test_an_unknown_run_is_a_usage_error(store: Store) -> None:
    with pytest.raises(UsageError, match="has no run 7"):
        store.run(7)


def test_names_are_data_never_sql(store: Store) -> None:
    evil = "'; DROP TABLE items; --"
    run = store.open_run(type(HEADER)(evil, evil, evil, 1))
    run.end("complete")
    assert store.replies_to(run.id, evil) == {}
    assert store.runs()[0].header.name == evil


def test_what_was_noted_is_written_when_the_run_ends(store: Store) -> None:
    run = store.open_run(HEADER)

    async def note_all() -> None:
        for number in range(5_000):
            await run.note(item_for(number, error="stopped"))

    asyncio.run(note_all())
    run.end("complete")
    assert store.run(run.id).failed == 5_000


@pytest.mark.parametrize("turns", range(4))
def test_a_paid_answer_is_kept_although_its_caller_was_cancelled(store: Store, turns: int) -> None:
    run = store.open_run(HEADER)

    async def keep_and_leave() -> None:
        keeping = asyncio.create_task(run.keep(item_for(1, paid=True), cached_reply_for(1)))
        for _ in range(turns + 1):
            await asyncio.sleep(0)
        keeping.cancel()

    asyncio.run(keep_and_leave())
    run.end("interrupted")
    assert store.find_reply(work_for(1).request.key) == cached_reply_for(1)


def test_settling_waits_for_what_was_noted(store: Store) -> None:
    run = store.open_run(HEADER)

    async def note_and_settle() -> int:
        await run.note(item_for(1, error="stopped"))
        await run.settle()
        return store.run(run.id).failed

    assert asyncio.run(note_and_settle()) == 1
    run.end("complete")


def test_a_row_that_cannot_be_written_ends_the_run_and_leaves_no_task_waiting(
    store: Store, address: StoreAddress
) -> None:
    run = store.open_run(HEADER)
    lone = msgspec.structs.replace(item_for(1, paid=True), case_id="\ud800")

    async def both() -> list[BaseException | None]:
        jobs = (
            run.keep(lone, cached_reply_for(1)),
            run.keep(item_for(2, paid=True), cached_reply_for(2)),
        )
        async with asyncio.timeout(NEVER_S):
            return list(await asyncio.gather(*jobs, return_exceptions=True))

    told = asyncio.run(both())
    assert [type(error) for error in told] == [StoreError, StoreError]
    assert str(told[0]).startswith(f"{address}: cannot keep results: 'utf-8' codec can't")
    run.end("interrupted")
    assert store.run(run.id).status == "interrupted"


def test_an_answer_of_a_concurrent_run_is_found_after_the_next_commit(
    store: Store,
    address: StoreAddress,
) -> None:
    run = store.open_run(HEADER)
    keep(run, 1)
    with open_store(address) as elsewhere:
        other = elsewhere.open_run(msgspec.structs.replace(HEADER, name="another"))
        assert other.find_reply(work_for(1).request.key) == cached_reply_for(1)
        keep(other, 2)
        other.end("complete")
    keep(run, 3)
    assert run.find_reply(work_for(2).request.key) == cached_reply_for(2)
    assert run.find_reply(work_for(3).request.key) == cached_reply_for(3)
    assert run.find_reply(work_for(4).request.key) is None
    run.end("complete")


def test_a_run_that_a_living_process_holds_is_not_opened_again(store: Store) -> None:
    run = store.open_run(HEADER)
    with pytest.raises(UsageError, match=f"run {run.id} of 'trial' is held by process"):
        store.open_run(HEADER, resume=True)
    run.end("complete")


def test_a_run_without_results_is_dropped_and_one_that_cost_something_stays(store: Store) -> None:
    unused = store.open_run(HEADER)
    unused.end("interrupted")
    unused.drop()
    assert store.runs() == []
    charged = store.open_run(HEADER)
    charged.charge_preflight(0.25)
    charged.end("interrupted")
    charged.drop()
    assert [record.cost_usd for record in store.runs()] == [0.25]


def test_what_may_still_be_billed_counts_as_spent(store: Store) -> None:
    run = store.open_run(HEADER)

    async def lose_one() -> None:
        run.add_uncertain_cost(0.125)
        await run.settle()

    asyncio.run(lose_one())
    run.end("interrupted")
    record = store.run(run.id)
    assert (record.cost_usd, record.uncertain_usd, record.spent_usd) == (0.0, 0.125, 0.125)


def test_a_claimed_request_is_locked_for_other_openers_until_its_reply_is_stored(
    store: Store, address: StoreAddress
) -> None:
    key, patience_s = work_for(1).request.key, NEVER_S
    run = store.open_run(HEADER)

    async def both(other: RunLedger) -> None:
        assert await run.claim(key, patience_s, 0.5) is None
        waiting = asyncio.create_task(other.claim(key, patience_s, 0.5))
        await asyncio.sleep(0)
        assert not waiting.done()
        await run.keep(item_for(1, paid=True), cached_reply_for(1))
        run.release(key)
        assert await waiting == cached_reply_for(1)
        other.release(key)

    with open_store(address) as elsewhere:
        other = elsewhere.open_run(msgspec.structs.replace(HEADER, name="another"))
        asyncio.run(both(other))
        other.end("complete")
    run.end("complete")


def test_failures_are_counted_by_cause_and_the_most_frequent_is_named(store: Store) -> None:
    run = store.open_run(HEADER)

    async def note_all() -> None:
        for number, why in enumerate(("HTTP 500", "timeout", "timeout")):
            await run.note(item_for(number, error=why))

    asyncio.run(note_all())
    run.end("unanswered")
    assert [(f.model, f.why, f.number) for f in store.failures(run.id)] == [("m", "timeout", 2)]


def test_the_most_similar_unfinished_run_is_found(store: Store) -> None:
    first = store.open_run(HEADER)
    first.end("interrupted")
    store.open_run(msgspec.structs.replace(HEADER, config_hash="other")).end("interrupted")
    store.open_run(msgspec.structs.replace(HEADER, name="another")).end("interrupted")
    found = store.find_unfinished(HEADER)
    assert found is not None and found.id == first.id
    assert store.find_unfinished(msgspec.structs.replace(HEADER, name="none")) is None


def test_answered_work_is_known_by_case_model_and_repeat(store: Store) -> None:
    run = store.open_run(HEADER)
    keep(run, 1)
    asyncio.run(run.note(item_for(2, error="HTTP 500")))
    run.end("complete")
    assert store.has_answered(run.id, work_for(1))
    assert not store.has_answered(run.id, work_for(1, run=2))
    assert not store.has_answered(run.id, work_for(2))


def test_added_work_lowers_the_coverage(store: Store) -> None:
    run = store.open_run(HEADER)
    keep(run, 1)
    store.add_work(run.id, 10)
    run.end("complete")
    assert store.run(run.id).coverage == 0.05
