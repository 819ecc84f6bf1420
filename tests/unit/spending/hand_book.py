"""A price book typed by hand, for tests that must not move when prices do."""

from __future__ import annotations

import json

from docket.rules.spending.price_book import PriceBook

META = {"schema": "docket/price-book/v1", "as_of": "2026-11-29", "currency": "USD", "unit": "per_million_tokens"}

OPUS = {
    "id": "opus",
    "match": ["or", [["is", "opus"], ["re", "^opus-\\d{8}$"]]],
    "context": 200000,
    "max_output": 64000,
    "prices": [
        {"input": "5", "cached_input": "0.5", "cache_write": "6.25", "cache_write_1h": "10", "output": "25",
         "web_search": "10"}
    ],
    "variants": [
        {"served": {"processing": "batch"}, "from": "2026-10-14", "input": "2.5", "cached_input": "0.25",
         "cache_write": "3.125", "cache_write_1h": "5", "output": "12.5"},
        {"served": {"speed": "fast"}, "input": "10", "cached_input": "1", "cache_write": "12.5", "cache_write_1h": "20",
         "output": "50"},
    ],
}  # fmt: skip
SONNET = {
    "id": "sonnet",
    "match": ["starts", "sonnet"],
    "context": 1000000,
    "prices": [
        {"input": "3", "cached_input": "0.3", "cache_write": "3.75", "cache_write_1h": "6", "output": "15",
         "above": [[200000, {"input": "6", "cached_input": "0.6", "cache_write": "7.5", "cache_write_1h": "12",
                             "output": "22.5"}]]},
        {"from": "2026-03-13", "input": "3", "cached_input": "0.3", "cache_write": "3.75", "cache_write_1h": "6",
         "output": "15"},
    ],
}  # fmt: skip
FABLE = {
    "id": "fable",
    "match": ["and", [["has", "fable"], ["ends", "e"]]],
    "prices": [{"input": "10", "cached_input": "1", "output": "50"}],
}
GPT = {
    "id": "gpt",
    "match": ["or", [["is", "gpt"], ["is", "gpt-2026-04-01"]]],
    "context": 1050000,
    "prices": [
        {"input": "5", "cached_input": "0.5", "output": "30", "web_search": "10",
         "above": [[272000, {"input": "10", "cached_input": "1", "output": "45"}],
                   [500000, {"input": "20", "cached_input": "2", "output": "90"}]]}
    ],
    "variants": [
        {"served": {"service_tier": "flex"}, "from": "2026-10-12", "input": "2.5", "cached_input": "0.25",
         "output": "15", "above": [[272000, {"input": "5", "cached_input": "0.5", "output": "22.5"}]]},
        {"served": {"service_tier": "flex"}, "input": "9", "output": "99"},
        {"served": {"service_tier": "priority"}, "input": "12.5", "cached_input": "1.25", "output": "75"},
        {"served": {"processing": "batch"}, "input": "2.5", "output": "15"},
    ],
}  # fmt: skip
VOICE = {
    "id": "voice",
    "match": ["is", "voice"],
    "prices": [{"input": "2.5", "output": "10", "audio_input": "32", "audio_output": "64"}],
}
MUTE = {"id": "mute", "match": ["is", "mute"], "prices": [{"input": "1", "output": "2", "audio_input": "4"}]}
WRITER = {
    "id": "writer",
    "match": ["is", "writer"],
    "prices": [{"input": "4", "cached_input": "0.4", "cache_write": "5", "output": "20", "file_search": "2.5"}],
}
NIGHT = {
    "id": "night",
    "match": ["is", "night"],
    "prices": [
        {"input": "2", "output": "4"},
        {"between": ["16:30", "00:30"], "input": "1", "output": "2"},
        {"between": ["12:00", "13:00"], "input": "1.5", "output": "3"},
    ],
}

SECTIONS = {
    "anthropic": {
        "defaults": {"web_search": "10"},
        "unlisted": {"service_tier": {"priority": "1", "*": "2"}, "speed": {"*": "6"}},
        "geo": {"us": {"multiplier": "1.1", "models": ["opus"]}},
        "max_output_default": 128000,
        "context_default": 1000000,
        "serves": ["or", [["has", "opus"], ["has", "sonnet"], ["has", "fable"]]],
        "models": [OPUS, SONNET, FABLE],
    },
    "openai": {
        "unlisted": {"service_tier": {"*": "4"}},
        "serves": ["starts", "gpt"],
        "models": [GPT, VOICE, MUTE, WRITER],
    },
    "deepseek": {"models": [NIGHT]},
}


def book_bytes(sections: object = None, meta: object = None) -> bytes:
    chosen = SECTIONS if sections is None else sections
    assert isinstance(chosen, dict)
    lines = ",\n".join(f"{json.dumps(name)}:{json.dumps(section)}" for name, section in chosen.items())
    head = json.dumps(META if meta is None else meta, separators=(",", ":"))
    return f'{{"_meta":{head},"providers":{{\n{lines}\n}}}}\n'.encode()


def hand_book() -> PriceBook:
    return PriceBook.parse(book_bytes())
