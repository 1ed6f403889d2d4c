"""The words that name a kind of personal data before or after it, in the languages of calls."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

LabelKind = Literal[
    "long", "cvv", "birth_date", "postcode", "answer", "ssn", "aadhaar", "card", "account",
    "phone", "address", "other", "number",
]  # fmt: skip
"""What a label names; `long` and `other` are numbers that are not personal data."""
CONTEXT = 40
"""Characters before a number in which its kind may be named."""
AFTER = 45
"""Characters after a number in which its kind may be named."""

_WORDS: Mapping[LabelKind, str] = {
    "long": r"imei|isbn|tracking|serial|seriennummer",
    "cvv": (
        r"cvv2?|cvc2?|cv2|csc|(?:three|3|four|4)[- ]digit code|code (?:on|at) the back|"
        r"security code|security number|"
        r"(?:card )?verification (?:code|number|value)|"
        r"(?:three|3|four|4|last|little)(?: digits?| numbers?)? (?:on|at|from) (?:the|its) "
        r"(?:back|reverse)|prüfziffer|kartenprüfnummer|sicherheitscode|código de seguridad|"
        r"código de segurança|codice di sicurezza|cryptogramme|セキュリティ ?コード|보안 ?코드|"
        r"安全码|सीवीवी"
    ),
    "birth_date": (
        r"date of birth|birth ?dates?|birth ?days?|d\.?o\.?b(?![a-z])|born(?: on)?(?![a-z])|"
        r"geburtsdatum|geburtstag|geboren|date de naissance|née? le|anniversaire|"
        r"fecha de nacimiento|nací|nacid[oa]|cumpleaños|data de nascimento|nasci(?![a-z])|"
        r"nascid[oa]|data di nascita|nat[oa] il|compleanno|生年月日|誕生日|생년월일|생일|"
        r"出生日期|生日|जन्म"
    ),
    "postcode": (
        r"post ?codes?|postal codes?|zip(?: ?codes?)?(?![a-z])|pin ?code|postleitzahl|"
        r"plz(?![a-z])|code postal|código postal|cep(?![a-z])|codice postale|郵便番号|우편 ?번호|"
        r"邮编|邮政编码|पिन ?कोड"
    ),
    "answer": (
        r"maiden name|first pet|pet(?:'?s)? name|name of (?:your|my|the) (?:first )?"
        r"(?:pet|dog|cat|school|teacher|street)|first school|primary school|elementary school|"
        r"school did you|memorable (?:word|name|place|date)|security (?:question|answer|word)|"
        r"secret (?:word|question|answer)|(?:pass|code) ?(?:word|phrase)s?(?! reset)|passcode|"
        r"(?:city|town) (?:were you|was i|you were|i was) born|(?:favou?rite|first) (?:teacher|"
        r"film|movie|book|colou?r|car)|mädchenname|passwort|kennwort|sicherheitsfrage|"
        r"nom de jeune fille|mot de passe|question secrète|apellido de soltera|contraseña|"
        r"primera mascota|nome de solteira|senha|cognome da nubile|parola d'ordine|"
        r"旧姓|合言葉|パスワード|비밀번호|密码|口令|पासवर्ड"
    ),
    "ssn": (
        r"social(?: security)?(?: (?:number|no))?(?! media| network| work| distanc)(?![a-z])|"
        r"ssn(?![a-z])|tax ?payer id"
    ),
    "aadhaar": r"aa?dh?aa?r(?![a-z])|uidai|आधार",
    "card": (
        r"cc(?![a-z])|(?<!aadhaar )(?<!aadhar )(?<!pan )(?<!sim )(?<!id )"
        r"(?:credit |debit |bank |visa |payment )?cards?(?! service| reader)(?: ?number| ?no)?"
        r"(?![a-z])|long number|number (?:on|across) the front|visa(?![a-z])|master ?card|amex|"
        r"american express|kreditkarte|kartennummer|karten?(?![a-z])|cartes?(?: bancaire|bleue)?"
        r"(?![a-z])|tarjetas?(?![a-z])|cartão|carta(?: di credito)?(?![a-z])|クレジット|カード|"
        r"카드|卡号|信用卡|银行卡|卡片|कार्ड|card nambar"
    ),
    "account": (
        r"(?:bank |checking |savings )?account(?:'s)?(?![a-z])|acct|a/c(?![a-z])|"
        r"polic(?:y|ies)(?![a-z])|member(?:ship)?(?![a-z])|(?:customer|client|subscriber|patient|"
        r"user|employee) ?(?:id(?![a-z])|number|no(?![a-z])|ref|#)|loan(?![a-z])|"
        r"contract(?![a-z])|kontonummer|konto(?![a-z])|kunden ?(?:nummer|nr)|vertragsnummer|"
        r"vertrag(?![a-z])|versicherungsnummer|mitgliedsnummer|cuenta|cliente|póliza|contrato|"
        r"compte|(?<=de )client|numéro client|contrat(?![a-z])|conta(?![a-z])|apólice|"
        r"conto(?![a-z])|"
        r"polizza|계좌|은행|고객 ?번호|회원 ?번호|口座|お客様番号|顧客番号|会員番号|账号|账户|帐号|"
        r"帐户|客户号|会员号|खाता|खाते|ग्राहक|"
        r"routing number|sort code|account no|passport|licen[cs]e|"
        r"id number|identity number|national insurance|cpf(?![a-z])|dni(?![a-z])|ausweis|身份证|"
        r"주민 ?등록|マイナンバー"
    ),
    "phone": (
        r"(?:tele)?phone|mobiles?(?![a-z])|cell(?:phone)?(?:'s)?(?![a-z])|landline|whatsapp|"
        r"fax(?![a-z])|(?:desk|office|direct line|pager) ?:|answering at|call(?:ing)? (?:me|you|"
        r"us|him|her|them|back|from|at|on)|call ?back|"
        r"reach (?:me|you|us|him|her|them)|get hold of|ring(?:ing)?(?: (?:me|us))?(?![a-z])|"
        r"give (?:me|us) a (?:bell|ring|call|shout)|dial(?:l?ed)?(?![a-z])|text(?: me)?(?![a-z])|"
        r"voicemail from|contact (?:number|phone|is|on)?|number to (?:call|reach|ring)|otp (?:on|"
        r"to)|"
        r"telefon|handynummer|(?:mein|auf dem|das|per) handy|handy (?:ist|lautet)|handy:|"
        r"mobilnummer|rufnummer|rückruf|anrufen|angerufen|erreich|"
        r"ruf(?:en)? (?:sie )?mich|tel[.:]|téléphone|portable|joindre|rappel|appel(?:er|ez)|"
        r"teléfono|celular|móvil|"
        r"llám|llamar|márque|marcar|localizar en|telefone|ligar|liga(?![a-z])|telemóvel|telefono|"
        r"cellulare|recapito|richiam|chiam|전화|휴대폰|핸드폰|연락처|휴대 ?전화|फ़ोन|फोन|मोबाइल|"
        r"कॉल|電話|携帯|けいたい|手机|电话|联系|拨打"
    ),
    "other": (
        r"order|ticket|invoice|reference|ref(?![a-z])|case(?![a-z])|booking|confirmation|"
        r"transaction|bestell|auftrag|rechnung|artikel|pedido|factura|fattura|ordine|commande|"
        r"facture|meter reading|zählerstand|version|model(?![a-z])|sku|item|article|lot(?![a-z])|"
        r"build|error|rma(?![a-z])|row(?![a-z])|flight|reading|balance|amount|price|cost|"
        r"주문|예약|송장|注文|予約|伝票|订单|订单号|发票|ऑर्डर|आर्डर|बिल"
    ),
    "number": (
        r"number(?:'s| is|,? it's)|my number|numéro|número|numero|nummer|नंबर|नम्बर|번호|番号|号码"
    ),
    "address": (
        r"(?<!email )(?<!e-mail )(?<!mail )(?<!ip )address(?! book)|i live (?:at|on)|"
        r"we live (?:at|on)|"
        r"living at|adresse|anschrift|dirección|endereço|indirizzo|住所|주소|地址|पता"
    ),
}
_NOT_AFTER_LETTER = r"(?<![a-zà-ÿ])"
_LABEL = re.compile(
    "|".join(
        f"(?P<{kind}>{_NOT_AFTER_LETTER}(?:{unicodedata.normalize('NFKC', words)}))"
        for kind, words in _WORDS.items()
    )
)
_LABEL_OF: Mapping[LabelKind, re.Pattern[str]] = {
    kind: re.compile(f"{_NOT_AFTER_LETTER}(?:{unicodedata.normalize('NFKC', words)})")
    for kind, words in _WORDS.items()
    if kind in ("answer", "birth_date", "address")
}
_LINK = re.compile(
    unicodedata.normalize(
        "NFKC",
        r"(?:[\s:=#,.…'\"’*()°-]|(?<![a-z])(?:numbers?|num|nos?|nr|id|is|was|it'?s|its|it|that'?s|"
        r"that|s|the|a|my|your|our|his|her|for|as|what|which|i|we|you|have|has|had|got|says?|said|"
        r"reads?|would|be|should|ending|ends|in|of|on|at|with|and|so|then|okay|ok|yeah|yes|sure|"
        r"uh|um|er|erm|well|let|me|see|file|bill|letter|card|code|back|front|reverse|security|"
        r"here|there|one|new|old|primary|alternate|registered|down|dash|"
        r"nummer|ist|lautet|war|hat|die|der|das|meine?|ihre?|es|el|la|los|mi|su|de|del|un|una|le|"
        r"les|mon|ma|votre|est|c'est|numéro|número|numero|n|é|è|o|do|da|meu|minha|il|lo|di|mio|mia|"
        r"hai|ji|sir|madam|mein|par)(?![a-z])|[^\x00-\x7f]){0,60}+",
    )
)
"""What may be between a label and its value: link words, punctuation, other scripts."""
_REQUEST = re.compile(
    unicodedata.normalize(
        "NFKC",
        r"[?:]\s*$|\?|(?<![a-z])(?:may i|can i|could i|could you|can you|please|what'?s|what is|"
        r"which|"
        r"your|give me|tell me|confirm|verify|provide|need|spell|read|take|get|bitte|nennen|ihre?|"
        r"su|sus|votre|vos|seu|sua|suo|tuo|dígame|me da|qual|quale|quel|quelle|mi d[àa])(?![a-z])|"
        r"부탁|말씀|알려|세요|お願い|教えて|ください|ですか|请|您的|告诉|बताइए|बताएं|आपका|आपकी|दीजिए",
    )
)


class DataLabel(NamedTuple):
    """A label in a text."""

    start: int
    end: int
    kind: LabelKind


class Labels:
    """The labels of a text, and what the words before it ask for."""

    def __init__(self, text: str, before: str = "") -> None:
        self._text = text
        self._before = before

    @cached_property
    def all(self) -> Sequence[DataLabel]:
        """The labels, in order."""
        return find_labels(self._text)

    @cached_property
    def asked_kinds(self) -> Sequence[LabelKind]:
        """All that the words before the text ask for."""
        return asked_kinds(self._before)

    @cached_property
    def asked(self) -> LabelKind | None:
        """What they ask for last."""
        return asked_for(self._before)

    def mentions(self, kind: LabelKind) -> bool:
        """Whether the text has a label of this kind, or answers to one; faster than `all`."""
        return kind in self.asked_kinds or _LABEL_OF[kind].search(self._text) is not None

    def before(self, start: int, reach: int = CONTEXT) -> DataLabel | None:
        """The nearest label that ends before a place."""
        at = bisect_right(self._ends, start)
        return self.all[at - 1] if at and self._ends[at - 1] >= start - reach else None

    def is_near(self, kind: LabelKind, start: int) -> bool:
        """Whether a label of this kind ends before a place, near it."""
        first = bisect_left(self._ends, start - CONTEXT)
        last = bisect_right(self._ends, start)
        return any(one.kind == kind for one in self.all[first:last])

    def linked(self, start: int, end: int) -> DataLabel | None:
        """The label that only link words separate from a value: before it, else after it."""
        label = self.before(start, 60)
        if label is not None and _LINK.fullmatch(self._text, label.end, start):
            return label
        at = bisect_left(self._ends, end)
        after = self.all[at] if at < len(self.all) else None
        if after is None or not end <= after.start <= end + AFTER:
            return None
        return after if _LINK.fullmatch(self._text, end, after.start) else None

    @cached_property
    def _ends(self) -> Sequence[int]:
        return [one.end for one in self.all]


def find_labels(text: str) -> Sequence[DataLabel]:
    """Every label of a text, in order."""
    found: list[DataLabel] = []
    for match in _LABEL.finditer(text):
        kind: LabelKind = match.lastgroup  # type: ignore[assignment]
        label = DataLabel(match.start(), match.end(), kind)
        last = found[-1] if found else None
        if (
            kind == "number"
            and last
            and _LINK.fullmatch(text, last.end, min(last.end + 20, label.start))
        ):
            found[-1] = last._replace(end=label.end)  # "account number is": the number of that
        else:
            found.append(label)
    return found


def asked_kinds(before: str) -> Sequence[LabelKind]:
    """The kinds that the words before a text ask for: a question, a key, or "my number is"."""
    found = find_labels(before)
    if not found or not (_REQUEST.search(before) or _LINK.fullmatch(before, found[-1].end)):
        return ()
    return [one.kind for one in found]


def asked_for(before: str) -> LabelKind | None:
    """The kind that is asked for last; `number` if no other is named."""
    kinds = asked_kinds(before)
    named = [kind for kind in kinds if kind != "number"]
    return named[-1] if named else "number" if kinds else None
