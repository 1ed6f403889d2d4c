"""Which models are related: a judge is kinder to its own family (JUDGE §1)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_STEMS: Mapping[str, str] = {
    "openai": r"gpt|chatgpt|o[1-9](?![a-z0-9])|davinci|openai",
    "anthropic": r"claude|anthropic",
    "google": r"gemini|gemma|palm|bison|google",
    "meta": r"llama|meta",
    "mistral": r"mistral|mixtral|ministral|codestral|magistral|pixtral|devstral",
    "qwen": r"qwen|qwq|qvq|tongyi",
    "deepseek": r"deepseek",
    "cohere": r"command|aya|cohere",
    "microsoft": r"phi(?=-?[0-9])|wizardlm|microsoft",
    "xai": r"grok",
    "amazon": r"nova|titan|amazon",
    "zhipu": r"glm|chatglm|zhipu",
    "moonshot": r"kimi|moonshot",
    "nvidia": r"nemotron|nvidia",
    "ibm": r"granite",
    "ai21": r"jamba|ai21",
    "lg": r"exaone",
    "kakao": r"kanana",
    "naver": r"hyperclova",
    "upstage": r"solar",
    "baidu": r"ernie",
    "tencent": r"hunyuan",
    "bytedance": r"doubao|seed",
    "minimax": r"minimax|abab",
    "01": r"yi(?=-)",
    "tii": r"falcon",
}
_FAMILIES = {
    family: re.compile(rf"(?<![a-z0-9])(?:{stems})", re.IGNORECASE)
    for family, stems in _STEMS.items()
}


def families(model: str) -> frozenset[str]:
    """The families in a model's name; a distilled model may have two."""
    return frozenset(name for name, stems in _FAMILIES.items() if stems.search(model))


def are_related(one: str, other: str) -> bool:
    """Whether two models share a family, or an unknown name."""
    return one.casefold() == other.casefold() or bool(families(one) & families(other))


def overlaps(model: str, judges: Iterable[str]) -> bool:
    """Whether a judge is related to the model under evaluation: the flag `judge_overlap`."""
    return any(are_related(model, judge) for judge in judges)
