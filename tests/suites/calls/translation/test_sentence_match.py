"""What an answer says, as one text: the forms of its sentences are put together, not made again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from callscore.metrics.text import search_form
from callscore.suites.calls.translation.sentence_match import (
    ModelTranslation,
    SentenceState,
    SourceSentence,
    classify_sentence,
)

LETTERS = "aé<= \t\n\u0301\u0338\u0323\u3099\u00ad\u200b\u00a0かक\u093cㄱᄀ\u1161"
TEXTS = st.lists(st.tuples(st.text(LETTERS, max_size=6), st.text(LETTERS, max_size=6)), max_size=4)


@given(TEXTS)
def test_c18_the_form_of_an_answer_is_that_of_its_text(texts: list[tuple[str, str]]) -> None:
    by_id = {
        str(at): classify_sentence(SourceSentence(str(at), "source", human), answer)
        for at, (human, answer) in enumerate([*texts, ("same", "same"), ("same", " same")])
    }
    translation = ModelTranslation(by_id, is_reference=False)
    assert by_id[str(len(texts) + 1)].state is SentenceState.SAME
    assert translation.search_text == search_form(translation.text, ignore_case=False)
