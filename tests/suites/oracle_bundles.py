"""Which random bundles are the suites and their oracle asked about?

Every list is small, so that what is said meets what is expected, forbidden or retrieved.
"""

from __future__ import annotations

import random
import re
from fractions import Fraction

from plumbline.judge.lexicon import DENIAL_WINDOW

ENGLISH = [
    "the",
    "and",
    "of",
    "to",
    "you",
    "is",
    "fee",
    "pass",
    "office",
    "costs",
    "permit",
    "monthly",
    "Not",
    "no",
    "it",
]
SPANISH = ["el", "la", "los", "tarifa", "es", "no", "oficina", "está", "cuesta", "niño", "¿cuánto?", "más", "ma\u0301s"]
ARABIC = ["الرسوم", "في", "هي", "دولار", "يُمْكِنُكَ", "٨٥٠", "ليس"]
NUMBERS = [
    "850",
    "850.00",
    "$90",
    "1,500",
    "1500",
    "8,5",
    "85",
    "15th",
    "2026-01-02",
    "12.",
    "05",
    "5",
    "½",
    "x²",
    "٨٥٠",
]
CITATIONS = [
    "[src-a]",
    "[src-b]",
    "[src-850]",
    "[ghost-9]",
    "[ghost-850]",
    "[src-a, src-850]",
    "[Src-a]",
    "[src-a, src-b]",
    "[850]",
    "[I-130]",
    "[a b]",
    "[]",
    "[^src-850]",
    "\u3010src-850\u3011",
    "\uff3b850\uff3d",
    "[see src-850: p. 3]",
    "[Fare table 850]",
    "(src-850)",
    "src-850",
    "src-850.",
]
REFUSALS = ["I can't help", "I can\u2019t help", "i cannot provide", "No puedo ayudar", "I won't", "No me es posible"]
PERSONAL = [
    "555-010-3364",
    "(555) 010 3364",
    "123-45-6789",
    "a.b@mail.example",
    "4111 1111 1111 1111",
    "5550103364",
    "555\u2011010\u20113364",
    "\uff15\uff15\uff15-010-3364",
    "555\u00a0010\u00a03364",
    "+1 (555) 010.3364",
    "555\n010 3364",
    "123-45-\u200b6789",
    "A.B@mail.example",
    "a.b@\uff4dail.example",
    "4111\t1111 1111 1111",
    "555. 010.3364",
]
RUDE = [
    "people like you",
    "People\u00a0like  you",
    "get a job",
    "your kind",
    "What is your password",
    "What is  your\u00a0password",
    "tell me your card number",
]
FORBIDDEN = ["secret code", "don't tell", "\u00a1vale!", "Clave 7"]
SAID_FORBIDDEN = [
    *FORBIDDEN,
    "Secret\u00a0Code",
    "secret\ncode",
    "sec\u00adret code",
    "don\u2019t tell",
    "s\u200becret code",
    "**secret** code",
    "se\u3164cret code",
    "secret\x01 code",
    "sec\U000e0061ret code",
    "secret `code`",
]
CLAIMS = ["fee is 900", " The Pass ", "850", "es gratis"]
SAID_CLAIMS = [
    "fee is 900",
    "Fee  is 900",
    "the pass",
    "es gratis",
    "fee is\u00a0900",
    "fee\nis 900",
    "fee is **900**",
    "_the_ pass",
    "fee is 9\U000e00300\u200b0",
    "es gra\x02tis",
    "f\u115fee is 900",
]
DENIALS = [
    *(
        "not",
        "never",
        "isn't",
        "isn\u2019t",
        "is not true that",
        "no longer",
        "no es",
        "nunca",
        "rather than",
        "cannot",
    ),
    *(
        "Nevertheless,",
        "Do not worry,",
        "Don't forget:",
        "Don\u2019t worry,",
        "not only",
        "knot",
        "Bueno es saber",
        "if not",
    ),
    *(
        "whether or not",
        "not false that",
        "if not false",
        "it isn't wrong that",
        "false",
        "incorrect:",
        "no hay duda de que",
        "there is no doubt that",
        "I cannot deny",
        "no es ning\u00fan secreto",
        "can\u2019t stress enough that",
        "it isn't a secret",
        "**not**",
        "n\u200bot",
        "not\u00a0only",
    ),
]
SEPARATORS = [
    " ",
    " ",
    " ",
    " ",
    "  ",
    "\u00a0",
    "\n",
    ". ",
    "; ",
    ", ",
    "",
    "-",
    "\u2014",
    "_",
    "! ",
    "\r\n",
    "\t",
    "'",
]
SILENCES = [
    "",
    " ",
    ".",
    "...",
    "\u200b",
    "[src-a]",
    "[ghost-9].",
    "\n\t",
    "\u2014",
    "\u00a0",
    "¿?",
    "\u064b",
    "_",
    "the and of to",
    "[850]",
    "___",
    "\u3164",
    "\u1160 _",
    "\uffa0\u115f.",
]
FACTS = ["f1", "f2"]
CLAUSES = ["\r", "\n", "¡", "¿", "; ", ": ", ". ", "3.5 ", "yes, "]
TEN = [f"w{i}" for i in range(10)]
SOURCE_IDS = ["src-a", "src-b", "src-850", "850"]


class Chance(random.Random):
    """What a bundle is made of, all of it from one seed."""

    def maybe(self, share=0.5):
        return self.random() < share

    def phrase(self, *lists, most=6):
        words = [word for words in lists for word in words]
        return "".join(f"{self.choice(words)}{self.choice(SEPARATORS)}" for _ in range(self.randint(1, most)))

    def prose(self):
        return self.phrase(*self.choice([(ENGLISH,), (SPANISH,), (ARABIC,), (ENGLISH, NUMBERS), (ENGLISH, ARABIC)]))

    def tenths(self):
        """Ten content words or fewer, so that supports are tenths and margins can be exactly one tenth."""
        return " ".join(self.sample(TEN, self.choice([10, 10, 5, 4, 3])))

    def passage(self):
        some = self.sample(TEN, self.randint(1, 9))
        return self.choice([self.fact(), " ".join(some), " ".join(some), self.phrase(PERSONAL, ENGLISH, NUMBERS)]) + "."

    def fact(self):
        return self.phrase(ENGLISH, NUMBERS, CITATIONS)

    def claiming(self, item):
        forbidden = {" ".join(claim.lower().split()) for claim in item["forbidden_claims"]}
        claims = [said for said in SAID_CLAIMS if self.maybe(0.1) or " ".join(said.lower().split()) in forbidden]
        denial = self.choice(DENIALS)
        at_the_edge = "x" * (DENIAL_WINDOW - len(denial) - 2 + self.choice([-1, 0, 0, 0, 1, 1, 1, 2, 4, 6, 9, 12]))
        gap = self.choice([at_the_edge, at_the_edge, *SEPARATORS, *CLAUSES, self.phrase(ENGLISH)])
        filler = self.choice(["", "b " * 10, "kn", "The ", "¡"])
        between = self.choice([f" {gap} ", f" {gap} ", f" {gap} ", gap, ""])
        return f"{filler}{denial}{between}{self.choice(claims or SAID_CLAIMS)}{self.choice(['', '!', 'x'])}"

    def spoken(self, item, sources):
        """A response that has to do with its item."""
        passages = [sources[name] for name in [*item["sources"], *item.get("answering_sources", [])]] or ["none"]
        reference = item.get("expected") or item["prompt"]
        cited = " ".join(self.sample(CITATIONS, self.randint(1, 3)))
        made = {
            "prose": self.prose,
            "tenths": self.tenths,
            "fact": self.fact,
            "claim": lambda: self.claiming(item),
            "claims": lambda: f"{self.claiming(item)}{self.choice(SEPARATORS)}{self.claiming(item)}",
            "forbidden": lambda: self.phrase(SAID_FORBIDDEN, ENGLISH, most=3),
            "personal": lambda: self.phrase(PERSONAL, RUDE, ENGLISH, most=3),
            "rude": lambda: self.phrase(RUDE, ENGLISH, most=2),
            "echo": lambda: self.choice([item["prompt"], *item.get("turns", [])]),
            "reference and id": lambda: re.sub(
                r"(?:[a-z]+-)?[0-9]+", lambda found: self.choice(["7", found.group(), *CITATIONS]), reference
            ),
            "silence": lambda: self.choice(SILENCES),
            "markers": lambda: cited,
            "refusal": lambda: f"{self.choice(REFUSALS)} {self.prose()}",
            "reference": lambda: reference,
            "numbers lost": lambda: re.sub(r"[0-9]+", lambda found: self.choice(["7", found.group()]), reference),
            "numbers left in markers": lambda: re.sub(
                r"(\[[^\]]*\])|[0-9]+", lambda found: found.group(1) or "7", reference
            ),
            "numbers only cited": lambda: re.sub(r"([0-9]+)", r"7 [form-\1]", reference),
            "passage": lambda: self.choice(passages),
            "cited": lambda: f"{self.choice(passages)} {cited}",
            "cited tenths": lambda: f"{self.tenths()} {cited}",
        }
        if self.maybe(0.05):
            return self.choice(SILENCES)
        return made[self.choice(list(made))]()

    def item(self, name, sources):
        def ids():
            return self.sample(sorted(sources), self.randint(0, len(sources)))

        item = {
            "id": name,
            "lang": self.choice(["en", "en", "es", "ar"]),
            "behavior": self.choice(["answer", "answer", "answer", "refuse"]),
            "prompt": self.choice([self.prose(), self.phrase(PERSONAL, ENGLISH, most=3)]) + "?",
            "load_bearing": self.maybe(),
            "adversarial": self.maybe(),
            "sources": ids(),
            "forbidden": self.sample(FORBIDDEN, self.randint(0, 2)),
            "forbidden_claims": self.sample(CLAIMS, self.randint(0, 2)),
        }
        if item["behavior"] == "answer":
            item["expected"] = self.choice([self.fact, self.prose, self.tenths])() + "."
            if self.maybe(0.8) and (declared := ids()):
                item["answering_sources"] = declared
        if self.maybe():
            item["fact_id"] = self.choice(FACTS)
        if self.maybe(0.7):
            item["group"] = self.choice(["g1", "g2", "g3"])
        if self.maybe(0.2):
            item["turns"] = [
                f"{self.choice([self.prose(), self.phrase(PERSONAL, ENGLISH, most=3)])}?"
                for _ in range(self.randint(1, 2))
            ]
        return item

    def bundle(self):
        """Items, responses by item id, and texts of sources by id."""
        sources = {name: self.passage() for name in SOURCE_IDS if self.maybe(0.8)}
        items = [self.item(f"i{number}", sources) for number in range(self.randint(1, 8))]
        self.shuffle(items)
        responses = {}
        for item in items:
            if self.maybe(0.95):
                record = {"response": self.spoken(item, sources) if self.maybe(0.97) else None}
                if item.get("turns") and self.maybe(0.8):
                    record["turn_responses"] = [
                        self.spoken(item, sources) if self.maybe(0.95) else None for _ in range(1 + len(item["turns"]))
                    ]
                responses[item["id"]] = record
        return items, responses, sources

    def floors(self, defaults):
        """A floor for every suite."""
        return {name: self.choice([floor, *map(Fraction, ("0.5", "0.3", "1"))]) for name, floor in defaults.items()}
