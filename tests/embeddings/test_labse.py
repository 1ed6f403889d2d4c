"""The loading code of LaBSE, with a tiny model of the same kind that the tests make themselves.

LaBSE's own weights (1.8 GB) are in no test.
"""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from pathlib import Path

import pytest

from callscore.core.case import Failed
from callscore.core.errors import MissingExtra
from callscore.embeddings.encoder import CosineEmbedder
from callscore.embeddings.labse import LANGUAGES, Labse, is_known_language, local_weights

INSTALLED = find_spec("sentence_transformers") is not None
needs_extra = pytest.mark.skipif(not INSTALLED, reason="the extra callscore[labse] is absent")
without_extra = pytest.mark.skipif(INSTALLED, reason="the extra callscore[labse] is here")


def tiny_model(folder: Path) -> Path:
    """BERT, pooling, dense layer and norm, as LaBSE is built; 16 dimensions and 60 words."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Dense, Normalize, Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizer

    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{x}" for x in letters)]
    bert = folder / "bert"
    bert.mkdir(parents=True)
    (bert / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    BertTokenizer(str(bert / "vocab.txt")).save_pretrained(str(bert))
    size = {"hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2}
    BertModel(BertConfig(vocab_size=len(words), num_hidden_layers=1, **size)).save_pretrained(
        str(bert)
    )
    layer = Transformer(str(bert))
    parts = [layer, Pooling(16, pooling_mode="cls"), Dense(16, 16), Normalize()]
    SentenceTransformer(modules=parts, device="cpu").save(str(folder / "model"))
    return folder / "model"


@needs_extra
@pytest.mark.filterwarnings("default")
def test_a_model_on_this_machine_is_loaded_and_compares(tmp_path: Path) -> None:
    labse = Labse(local_weights(str(tiny_model(tmp_path))))
    embedder = CosineEmbedder(labse)
    found = asyncio.run(embedder.similarities([("a refund", "refunds"), ("x", "x")], "hi"))
    assert not isinstance(found, Failed)
    assert 0 <= found[0].value <= 1
    assert found[1].value == 1.0
    assert found[0].by == embedder.signature
    assert not found[0].approximate
    assert embedder.reads("hi")
    assert embedder.can_read("मैं")


@needs_extra
@pytest.mark.filterwarnings("default")
def test_other_weights_are_another_signature(tmp_path: Path) -> None:
    weights = tiny_model(tmp_path)
    before = Labse(weights).signature
    (weights / "modules.json").write_text("[]", encoding="utf-8")
    assert Labse(weights).signature != before


@needs_extra
def test_weights_that_are_not_here_are_not_fetched(tmp_path: Path) -> None:
    with pytest.raises(MissingExtra, match="weights of LaBSE are not on this machine"):
        Labse(tmp_path)
    with pytest.raises(MissingExtra, match="weights of LaBSE are not on this machine"):
        Labse(local_weights("nobody/has-this-model"))


@without_extra
def test_without_the_extra_the_message_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(MissingExtra, match=r"pip install 'callscore\[labse\]'"):
        Labse(tmp_path)


@without_extra
def test_without_the_extra_there_are_no_weights() -> None:
    assert local_weights() is None


@pytest.mark.parametrize(
    ("lang", "reads"), [("hi", True), ("nb-NO", True), (None, True), ("hi-Latn", False)]
)
def test_it_knows_its_languages(lang: str | None, reads: bool) -> None:
    assert len(LANGUAGES) == 109
    assert is_known_language(lang) is reads
