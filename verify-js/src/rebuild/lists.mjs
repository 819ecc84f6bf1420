// Written by tools/write_verify_js_lists.py from spec/disclosure.json and spec/sentences.json.

export const DISCLOSURE = {
  "format": "docket/disclosure/v1",
  "groups": [
    "enforced_before_send",
    "recorded_not_enforced",
    "not_observed",
    "failure_behaviour",
    "trust_assumptions"
  ],
  "facts": {
    "quota": "budget.mode of the policy is quota",
    "usd_cap": "caps.max_usd of the policy is set",
    "strict": "the admission of session.start is strict",
    "ceiling": "the admission of session.start is ceiling",
    "sub_budgets": "caps.per_model or caps.per_agent of the policy is filled",
    "pools": "budget.pools of the policy is filled",
    "token_cap": "caps.max_tokens of the policy is set",
    "call_cap": "caps.max_model_calls of the policy is set",
    "wall_clock_cap": "caps.max_wall_seconds of the policy is set",
    "model_rules": "models.allow or models.deny of the policy is filled",
    "tunnels": "boundary.http_proxy of session.start is true, or egress.mode of the policy is tunnel",
    "passed_endpoints": "budget.pass_endpoints of the policy is filled, or its budget.unknown_endpoints is there and not refuse",
    "deny_write": "files.deny_write of the policy is filled",
    "both_passes": "there is an fs.snapshot of the phase before and one of the phase after",
    "omissions": "an fs.snapshot has omissions above 0",
    "gap": "there is an x-docket.evidence-gap",
    "ended": "there is a session.end",
    "subreaper": "isolation of proc.spawn has subreaper",
    "calls": "there is a model.response",
    "estimates": "a model.response has the usage_source estimated",
    "assumed_prices": "a model.response with components has assumed_price true",
    "upstream_overrides": "upstream_overrides of session.start is filled",
    "asserted": "there is an x-docket.asserted-call, or a note, tool.call or tool.result with reported_by",
    "signed": "proof of session.start is there and its signature is not null",
    "sealed": "proof of session.start is there and its seal is not null"
  },
  "limits": [
    {
      "code": "usd-cap-metered",
      "group": "enforced_before_send",
      "when": [
        "!quota",
        "usd_cap",
        "!strict",
        "!ceiling"
      ],
      "sentence": "The cap in dollars, by spend, holds and estimates: a reply that would cross it was cut, within a bound."
    },
    {
      "code": "usd-cap-strict",
      "group": "enforced_before_send",
      "when": [
        "!quota",
        "usd_cap",
        "strict"
      ],
      "sentence": "The cap in dollars: the worst case of each call was reserved before it was sent."
    },
    {
      "code": "usd-cap-ceiling",
      "group": "enforced_before_send",
      "when": [
        "!quota",
        "usd_cap",
        "ceiling"
      ],
      "sentence": "The cap in dollars, once it was reached: each call in flight by then could carry the run across it."
    },
    {
      "code": "sub-budgets",
      "group": "enforced_before_send",
      "when": [
        "sub_budgets"
      ],
      "sentence": "The budgets of single models and agents, by the same admission; an agent's name is what its calls say it is."
    },
    {
      "code": "pools",
      "group": "enforced_before_send",
      "when": [
        "pools"
      ],
      "sentence": "The limits of pools: calls took what the pool had granted the run; what other runs took is not on record."
    },
    {
      "code": "token-cap",
      "group": "enforced_before_send",
      "when": [
        "token_cap"
      ],
      "sentence": "The cap on tokens, by the same admission as dollars."
    },
    {
      "code": "call-cap",
      "group": "enforced_before_send",
      "when": [
        "call_cap"
      ],
      "sentence": "The cap on model calls: calls in flight count."
    },
    {
      "code": "wall-clock-cap",
      "group": "enforced_before_send",
      "when": [
        "wall_clock_cap"
      ],
      "sentence": "The cap on wall-clock time: at its end calls are refused and the processes of the run are stopped."
    },
    {
      "code": "model-rules",
      "group": "enforced_before_send",
      "when": [
        "model_rules"
      ],
      "sentence": "The policy's rules on which models may be called."
    },
    {
      "code": "record-before-send",
      "group": "enforced_before_send",
      "when": [],
      "sentence": "A call is written to the ledger before it is sent."
    },
    {
      "code": "no-usd-cap",
      "group": "recorded_not_enforced",
      "when": [
        "!quota",
        "!usd_cap"
      ],
      "sentence": "Spend: it was metered, and no cap in dollars was set."
    },
    {
      "code": "quota",
      "group": "recorded_not_enforced",
      "when": [
        "quota"
      ],
      "sentence": "Spend in dollars: tokens and calls were counted, and no price was put on them."
    },
    {
      "code": "file-changes",
      "group": "recorded_not_enforced",
      "when": [
        "both_passes"
      ],
      "sentence": "Changes to files under the watched paths, found by comparing a pass before with a pass after."
    },
    {
      "code": "deny-write",
      "group": "recorded_not_enforced",
      "when": [
        "deny_write"
      ],
      "sentence": "Writes to paths the policy forbids to write: found afterwards and recorded as violations, not prevented."
    },
    {
      "code": "processes",
      "group": "recorded_not_enforced",
      "when": [],
      "sentence": "The start and the end of the agent's process; what its own child processes did is not recorded."
    },
    {
      "code": "direct-traffic",
      "group": "not_observed",
      "when": [],
      "sentence": "Traffic that did not pass through the boundary, such as a call to a provider's own address."
    },
    {
      "code": "tunnels",
      "group": "not_observed",
      "when": [
        "tunnels"
      ],
      "sentence": "What went through the tunnels that the egress policy allowed."
    },
    {
      "code": "passed-endpoints",
      "group": "not_observed",
      "when": [
        "passed_endpoints"
      ],
      "sentence": "What an endpoint that docket does not know, and that the policy lets pass, may bill without saying so."
    },
    {
      "code": "bodies",
      "group": "not_observed",
      "when": [],
      "sentence": "Prompts and replies: their sizes and digests are kept, not their text."
    },
    {
      "code": "outside-the-tree",
      "group": "not_observed",
      "when": [],
      "sentence": "Changes outside the watched paths."
    },
    {
      "code": "omitted-paths",
      "group": "not_observed",
      "when": [
        "omissions"
      ],
      "sentence": "Paths that a pass could not or would not read; the ledger names them with the reason."
    },
    {
      "code": "between-passes",
      "group": "not_observed",
      "when": [
        "both_passes"
      ],
      "sentence": "A change that was undone before the pass after, and who made a change: the passes see states, not writers."
    },
    {
      "code": "unpaired-passes",
      "group": "not_observed",
      "when": [
        "!both_passes"
      ],
      "sentence": "Changes to files: the passes before and after are not both on record."
    },
    {
      "code": "upstream-failure",
      "group": "failure_behaviour",
      "when": [],
      "sentence": "An error or a broken stream of a provider is passed on as it came and recorded."
    },
    {
      "code": "ledger-failure",
      "group": "failure_behaviour",
      "when": [],
      "sentence": "When the ledger cannot be written, no further call is sent, and the gap is declared."
    },
    {
      "code": "evidence-gap",
      "group": "failure_behaviour",
      "when": [
        "gap"
      ],
      "sentence": "Some events of this run could not be written to the ledger."
    },
    {
      "code": "no-end",
      "group": "failure_behaviour",
      "when": [
        "!ended"
      ],
      "sentence": "This run's ledger has no end: what happened after its last event is unknown."
    },
    {
      "code": "orphans-ended",
      "group": "failure_behaviour",
      "when": [
        "subreaper"
      ],
      "sentence": "When docket itself is killed, the launcher ends every process of the run."
    },
    {
      "code": "orphans-possible",
      "group": "failure_behaviour",
      "when": [
        "!subreaper"
      ],
      "sentence": "The launcher could not be made the parent of orphaned processes: some may outlive the run."
    },
    {
      "code": "operator",
      "group": "trust_assumptions",
      "when": [],
      "sentence": "Whoever ran docket ran it unaltered: the chain shows that no part was changed, not that the whole is true."
    },
    {
      "code": "provider-counts",
      "group": "trust_assumptions",
      "when": [
        "calls"
      ],
      "sentence": "Reported token counts are the provider's own."
    },
    {
      "code": "estimates",
      "group": "trust_assumptions",
      "when": [
        "estimates"
      ],
      "sentence": "Some token counts were estimated from sizes, because the provider's were missing or unreadable."
    },
    {
      "code": "list-prices",
      "group": "trust_assumptions",
      "when": [
        "calls",
        "!quota"
      ],
      "sentence": "Costs are computed from published list prices; what is billed may differ."
    },
    {
      "code": "assumed-prices",
      "group": "trust_assumptions",
      "when": [
        "assumed_prices"
      ],
      "sentence": "Some models have no known price and were priced at an assumed one."
    },
    {
      "code": "upstream-overrides",
      "group": "trust_assumptions",
      "when": [
        "upstream_overrides"
      ],
      "sentence": "Calls could go to the addresses named in boundary.upstream_overrides, whoever answers there."
    },
    {
      "code": "agent-asserted",
      "group": "trust_assumptions",
      "when": [
        "asserted"
      ],
      "sentence": "Tool uses, remarks and calls that events carry as reported by the agent are its own word: docket saw none."
    },
    {
      "code": "signing-key",
      "group": "trust_assumptions",
      "when": [
        "signed"
      ],
      "sentence": "Nobody but docket signed with the run's key: other programs cannot read docket's memory, but root can, and whoever may read the key where it is kept has it."
    },
    {
      "code": "sealing-key",
      "group": "trust_assumptions",
      "when": [
        "sealed"
      ],
      "sentence": "Whoever can check the seal can also write it: it shows that nobody without its key changed the receipt."
    }
  ]
};

export const SENTENCES = {
  "format": "docket/sentences/v1",
  "cost_basis": {
    "reported": "reported: the providers' own counts",
    "estimated": "estimated: the providers gave no count that could be read",
    "mixed": "mixed: some counts are the providers', some are estimates"
  },
  "evidence": {
    "whole": "Every event reached the ledger file.",
    "no_end": "The ledger has no end: what happened after its last event is unknown.",
    "gap": "Some events could not be written to the ledger."
  },
  "chain": "hash = sha256(canonical {data, prev, seq, ts, type}); prev = hash of the event before",
  "appendix": "Each row names its ledger event by number and hash and leads to ledger.merkle_root by its path. Its cost is recomputed from its tokens and the embedded price table alone.",
  "price_table": "The families this run was priced by; `from` is the table they were taken from.",
  "cache": "Each group names the call whose reply was given again and pins the first of its hits to ledger.merkle_root. What was saved stands beside what was spent and in no total.",
  "windows": "Which tool was used, and when, is the agent's word. What stood before and after is docket's own observation, and each delta's digest is proven to ledger.merkle_root. Windows that overlapped share one delta."
};
