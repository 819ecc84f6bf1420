"""Aliases by hand: numbers in order, names alike but for their case, kept patterns and marks."""

from __future__ import annotations

import pytest

from docket.formats.ledger.redaction_facts import Profile
from docket.formats.run.price_table import literal_pattern
from docket.rules.drills.faults import FaultyCall
from docket.rules.redaction.aliases import Aliases, Form, is_wild
from docket.rules.redaction.collect import collected
from docket.rules.redaction.familiar import PublicPrices, is_known_variable
from docket.rules.redaction.hide import Hider, Known
from docket.rules.redaction.names import Names
from docket.rules.redaction.naming import Chosen, Naming, faults_by_calls
from docket.rules.redaction.table import Kind
from golden_ledgers import samples

PUBLIC = PublicPrices(models=frozenset({"claude-opus-4-5", "anthropic/claude-3.5-haiku", "gpt-5"}), digest="ab" * 32)
NOTHING = Form(word="pool", kept=lambda _: False)


def test_names_are_numbered_in_their_order_with_as_many_digits() -> None:
    aliases = Aliases(NOTHING, [f"team{at:02}" for at in range(12)])
    assert (aliases.name("team00"), aliases.name("team11")) == ("pool-01", "pool-12")
    assert sorted(aliases.hidden) == [f"team{at:02}" for at in range(12)]
    with pytest.raises(KeyError):
        aliases.name("another")


def test_names_that_differ_in_case_alone_have_one_number() -> None:
    aliases = Aliases(NOTHING, ["Acme", "acme", "a", ""])
    assert (aliases.name("Acme"), aliases.name("acme")) == ("pool-2", "Pool-2")
    assert (aliases.name("a"), aliases.name("")) == ("pool-1", "")


def test_names_that_a_price_cannot_tell_apart_have_one_and_are_told_apart_by_a_budget() -> None:
    names = ["a/b", "A/b", "a]b", "a[b", "a*b", "a?b"]
    aliases = Aliases(Form(word="model", kept=lambda _: False), names)
    found = {name: aliases.name(name) for name in names}
    assert {literal_pattern(alias) for alias in found.values()} == {"model-1???"}
    assert len({alias.lower() for alias in found.values()}) == len(names) - 1
    assert found["a/b"].lower() == found["A/b"].lower() != found["a?b"].lower()
    assert not any(is_wild(alias) for alias in found.values())


def test_a_budget_for_an_agent_in_another_case_stays_one_for_it() -> None:
    chosen = Chosen()
    chosen.add(Kind.AGENT, ["main", "sub:a"])
    chosen.patterns[Kind.AGENT] = {"MAIN", "Sub:A"}
    naming = Naming(chosen, PUBLIC)
    assert (naming.pattern(Kind.AGENT, "MAIN"), naming.name(Kind.AGENT, "main")) == ("MAIN", "main")
    alias, pattern = naming.name(Kind.AGENT, "sub:a"), naming.pattern(Kind.AGENT, "Sub:A")
    assert (alias.lower(), pattern[:4], alias[:4]) == (pattern.lower(), "Sub:", "sub:")


def test_a_pattern_is_a_mark_or_stays() -> None:
    form = Form(word="agent", kept=("main",).__contains__, kept_part=("sub:",).__contains__, head="sub:")
    aliases = Aliases(form, ["main", "sub:red", "sub:blue"], ["sub:*", "*red*", "sub:blue", "sub:b?ue"])
    assert aliases.name("main") == "main"
    assert aliases.name("sub:blue") == "sub:agent-1~2~"
    assert aliases.name("sub:red") == "sub:agent-2~1~"
    assert [aliases.pattern(text) for text in ("sub:*", "*red*", "sub:b?ue", "sub:blue")] == [
        "sub:*", "*~1~*", "*~2~*", "sub:agent-1~2~",
    ]  # fmt: skip
    # What ends in a mark is no longer matched by a kept pattern of an end: that one becomes a mark, too.
    form = Form(word="agent", kept=("x-1",).__contains__, kept_part=("-1",).__contains__)
    aliases = Aliases(form, ["x-1"], ["*-1", "*[x]*"])
    assert (aliases.name("x-1"), aliases.pattern("*-1"), aliases.pattern("*[x]*")) == ("x-1~1~~2~", "*~2~*", "*~1~*")


def test_rows_go_with_their_models_and_labels_stay() -> None:
    chosen = Chosen()
    for row in ("acme%2Bone+cache-write-5m", "claude-opus-4-5+flex+as-acme%2Bone+at-mygate", "gpt-5+at-openrouter"):
        chosen.add_row(row)
    chosen.prices.update({"acme%2bone+cache-write-5m", "*", "odd"})
    naming = Naming(chosen, PUBLIC)
    assert naming.row("acme%2Bone+cache-write-5m") == "model-1+cache-write-5m"
    assert naming.row("claude-opus-4-5+flex+as-acme%2Bone+at-mygate") == "claude-opus-4-5+flex+as-model-1+at-provider-1"
    assert naming.row("gpt-5+at-openrouter") == "gpt-5+at-openrouter"
    assert [naming.price(text) for text in ("acme%2bone+cache-write-5m", "*", "odd")] == [
        "model-1+cache-write-5m", "*", "pattern-1",
    ]  # fmt: skip
    assert (naming.scope("x", None), naming.scope("", None)) == ("[redacted]", "")
    assert sorted(naming.hidden) == ["acme+one", "mygate"]


CALLS = [
    FaultyCall(number=1, provider="openai", model="acme-a", path="/v1/x"),
    FaultyCall(number=2, provider="openai", model="acme-b", path="/v1/y"),
    FaultyCall(number=3, provider="own", model="gpt-5", path="/v1/x"),
]


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("drop@calls=1-2", "drop@calls=1-2"),
        ("drop", "drop"),
        ("drop@model=acme-*", "drop@calls=1+2"),
        ("status=503@calls=2-,share=0.5,provider=openai,retry_after=7", "status=503@calls=2,share=0.5,retry_after=7"),
        ("drop@path=/nowhere", "drop@calls=9007199254740991"),
        ("nonsense", "[redacted]"),
    ],
)
def test_a_plan_of_faults_names_calls_in_place_of_names(rule: str, told: str) -> None:
    assert faults_by_calls([rule], CALLS) == [told]


def test_what_everybody_knows_of_models_prices_and_variables() -> None:
    known = (
        "claude-opus-4-5",
        "Claude-Opus-4-5-20251101",
        "vendor/gpt-5",
        "gpt-5-2026-01-31",
        "claude-3.5-haiku-latest",
    )
    assert [name for name in known if not PUBLIC.knows(name)] == ["claude-3.5-haiku-latest"]
    assert not any(map(PUBLIC.knows, ("acme-gpt-5", "ft:gpt-5:acme", "gpt-5+flex", "")))
    assert (PUBLIC.knows_part("opus"), PUBLIC.knows_part("acme")) == (True, False)
    assert all(map(PUBLIC.is_source, (
        "quota mode: counted, not priced",
        "openai/gpt-5, docket/price-book/v1 as of 2026-09-30",
        "assumed: openrouter/anthropic/claude-3.5-haiku+flex, docket/price-book/v1 as of 2026-09-30",
        "assumed: the dearest prices of x-ai, docket/price-book/v1 as of unknown",
        "docket/prices/v1 as of 2026-09-30",
    )))  # fmt: skip
    assert not any(map(PUBLIC.is_source, (
        "/home/me/prices.json", "acme/gpt-5, docket/price-book/v1 as of 2026-09-30",
        "openai/acme-1, docket/price-book/v1 as of 2026-09-30", "docket/prices/v1 as of my wedding",
    )))  # fmt: skip
    assert (is_known_variable("OPENAI_BASE_URL"), is_known_variable("ACME_API_KEY")) == (True, False)


def hider(*profiles: Profile, chosen: Chosen | None = None) -> Hider:
    names = Names(key=b"k", paths=(), hosts=(), hidden=())
    return Hider(frozenset(profiles), names, Known(chosen=chosen or Chosen(), public=PUBLIC))


def test_the_public_table_is_told_and_no_other() -> None:
    own = {"schema": "mine/v1", "as_of": "2026", "digest": "cd" * 32, "imported": {"source": "/home/me", "date": "x"}}
    told = hider(Profile.HOSTS).event("session.start", {"prices": own})["prices"]
    assert told == {
        "schema": "[redacted]", "as_of": "[redacted]", "digest": told["digest"],  # type: ignore[index,call-overload]
        "imported": {"source": "[redacted]", "date": "[redacted]"},
    }  # fmt: skip
    assert told["digest"] != own["digest"]  # type: ignore[index,call-overload]
    public = {"schema": "docket/price-book/v1", "as_of": "2026-09-30", "digest": PUBLIC.digest}
    assert hider(*Profile).event("session.start", {"prices": public})["prices"] == public
    assert hider(Profile.SECRETS).event("session.start", {"prices": {**own, "digest": None}})["prices"] == {
        **own, "digest": None,
    }  # fmt: skip
    assert hider(*Profile).event("session.start", {"prices": 7}) == {"prices": 7}


def test_words_of_services_methods_variables_and_figures() -> None:
    reply = {"service_tier": "flex", "speed": "ludicrous", "upstream_cost_usd": "1.5e-3", "cost_usd": "a lot"}
    told = hider(Profile.HOSTS).event("model.response", reply)
    assert told == {
        "service_tier": "flex",
        "speed": "[redacted]",
        "upstream_cost_usd": "1.5e-3",
        "cost_usd": "[redacted]",
    }
    assert hider(Profile.SECRETS).event("model.response", {"speed": "ludicrous"}) == {"speed": "ludicrous"}
    spawn = {"env_set": ["OPENAI_API_KEY", "ACME_KEY"]}
    assert hider(Profile.NAMES).event("proc.spawn", spawn)["env_set"] == ["OPENAI_API_KEY", "[redacted]"]
    assert hider(Profile.PATHS).event("proc.spawn", spawn) == spawn
    assert hider(Profile.PATHS).event("x-docket.other", {"method": "POST"}) == {"method": "POST"}


def test_names_stay_without_their_profile() -> None:
    chosen = Chosen()
    chosen.add(Kind.POOL, ["team"])
    chosen.add(Kind.REMARK, ["mine"])
    for profiles, pool in (((Profile.HOSTS,), "team"), ((Profile.NAMES,), "pool-1")):
        assert hider(*profiles, chosen=chosen).event("x-docket.pool", {"pool": "team"}) == {"pool": pool}
    remark = {"code": "mine", "reported_by": "agent"}
    assert hider(Profile.NAMES, chosen=chosen).event("note", remark)["code"] == "remark-1"
    assert hider(Profile.NAMES, chosen=chosen).event("note", {"code": "no-calls"})["code"] == "no-calls"


def test_what_has_another_form_than_its_member_stays_or_goes_whole() -> None:
    every = hider(*Profile)
    odd = {"upstream_overrides": 7, "prices": {"schema": "docket/prices/v1"}, "argv": 7}
    assert every.event("session.start", odd) == {**odd, "argv": ["[redacted]"]}
    assert every.event("x-docket.fault-plan", {"spec": 7}) == {"spec": 7}
    assert every.event("x-docket.price", {"pattern": 7}) == {"pattern": 7}
    assert every.event("cap.warning", {"scope_name": 7}) == {"scope_name": 7}
    document = {"name": "default", "later": {"deep": {"a": "x", "b": "1.00"}}, "models": {"allow": 7}}
    told = every.event("policy.applied", {"document": document})["document"]
    assert told == {"name": "default", "later": {"deep": {"a": "[redacted]", "b": "1.00"}}, "models": {"allow": []}}


def test_what_is_not_collected() -> None:
    builder = samples.zero()
    odd = builder.add_raw("session.start", {"upstream_overrides": 7})
    plain = builder.add_raw("policy.applied", {"name": "default", "document": {"name": "default"}})
    other = builder.add_raw("cap.warning", {"scope": "moon", "scope_name": "x"})
    found = collected([odd, plain, other])
    assert found.chosen.names == {}
    assert found.words[Profile.NAMES] == set()


def test_models_of_a_policy_lose_secrets_alone_without_the_profile() -> None:
    document = {"models": {"allow": ["claude-*", "token=abc"], "deny": ["*acme*"]}}
    told = hider(Profile.SECRETS).event("policy.applied", {"document": document})["document"]
    assert told == {"models": {"allow": ["claude-*", "token=[secret]"], "deny": ["*acme*"]}}
    told = hider(Profile.NAMES).event("policy.applied", {"document": document})["document"]
    assert told == {"models": {"allow": ["claude-*", "[redacted]"], "deny": ["[redacted]"]}}
    assert hider(Profile.HOSTS).event("policy.applied", {"document": document})["document"] == document
