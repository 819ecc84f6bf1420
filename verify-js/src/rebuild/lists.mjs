// Written by tools/write_verify_js_lists.py from spec/*.json of these names: change those.

export const DISCLOSURE = {
 "format": "docket/disclosure/v1",
 "groups": ["enforced_before_send", "recorded_not_enforced", "not_observed", "failure_behaviour", "trust_assumptions"],
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
  "sealed": "proof of session.start is there and its seal is not null",
  "redacted": "redaction of session.start is there"
 },
 "limits": [
  {"code": "usd-cap-metered", "group": "enforced_before_send", "when": ["!quota", "usd_cap", "!strict", "!ceiling"], "sentence": "The cap in dollars, by spend, holds and estimates: a reply that would cross it was cut, within a bound."},
  {"code": "usd-cap-strict", "group": "enforced_before_send", "when": ["!quota", "usd_cap", "strict"], "sentence": "The cap in dollars: the worst case of each call was reserved before it was sent."},
  {"code": "usd-cap-ceiling", "group": "enforced_before_send", "when": ["!quota", "usd_cap", "ceiling"], "sentence": "The cap in dollars, once it was reached: each call in flight by then could carry the run across it."},
  {"code": "sub-budgets", "group": "enforced_before_send", "when": ["sub_budgets"], "sentence": "The budgets of single models and agents, by the same admission; an agent's name is what its calls say it is."},
  {"code": "pools", "group": "enforced_before_send", "when": ["pools"], "sentence": "The limits of pools: calls took what the pool had granted the run; what other runs took is not on record."},
  {"code": "token-cap", "group": "enforced_before_send", "when": ["token_cap"], "sentence": "The cap on tokens, by the same admission as dollars."},
  {"code": "call-cap", "group": "enforced_before_send", "when": ["call_cap"], "sentence": "The cap on model calls: calls in flight count."},
  {"code": "wall-clock-cap", "group": "enforced_before_send", "when": ["wall_clock_cap"], "sentence": "The cap on wall-clock time: at its end calls are refused and the processes of the run are stopped."},
  {"code": "model-rules", "group": "enforced_before_send", "when": ["model_rules"], "sentence": "The policy's rules on which models may be called."},
  {"code": "record-before-send", "group": "enforced_before_send", "when": [], "sentence": "A call is written to the ledger before it is sent."},
  {"code": "no-usd-cap", "group": "recorded_not_enforced", "when": ["!quota", "!usd_cap"], "sentence": "Spend: it was metered, and no cap in dollars was set."},
  {"code": "quota", "group": "recorded_not_enforced", "when": ["quota"], "sentence": "Spend in dollars: tokens and calls were counted, and no price was put on them."},
  {"code": "file-changes", "group": "recorded_not_enforced", "when": ["both_passes"], "sentence": "Changes to files under the watched paths, found by comparing a pass before with a pass after."},
  {"code": "deny-write", "group": "recorded_not_enforced", "when": ["deny_write"], "sentence": "Writes to paths the policy forbids to write: found afterwards and recorded as violations, not prevented."},
  {"code": "processes", "group": "recorded_not_enforced", "when": [], "sentence": "The start and the end of the agent's process; what its own child processes did is not recorded."},
  {"code": "direct-traffic", "group": "not_observed", "when": [], "sentence": "Traffic that did not pass through the boundary, such as a call to a provider's own address."},
  {"code": "tunnels", "group": "not_observed", "when": ["tunnels"], "sentence": "What went through the tunnels that the egress policy allowed."},
  {"code": "passed-endpoints", "group": "not_observed", "when": ["passed_endpoints"], "sentence": "What an endpoint that docket does not know, and that the policy lets pass, may bill without saying so."},
  {"code": "bodies", "group": "not_observed", "when": [], "sentence": "Prompts and replies: their sizes and digests are kept, not their text."},
  {"code": "outside-the-tree", "group": "not_observed", "when": [], "sentence": "Changes outside the watched paths."},
  {"code": "omitted-paths", "group": "not_observed", "when": ["omissions"], "sentence": "Paths that a pass could not or would not read; the ledger names them with the reason."},
  {"code": "between-passes", "group": "not_observed", "when": ["both_passes"], "sentence": "A change that was undone before the pass after, and who made a change: the passes see states, not writers."},
  {"code": "unpaired-passes", "group": "not_observed", "when": ["!both_passes"], "sentence": "Changes to files: the passes before and after are not both on record."},
  {"code": "upstream-failure", "group": "failure_behaviour", "when": [], "sentence": "An error or a broken stream of a provider is passed on as it came and recorded."},
  {"code": "ledger-failure", "group": "failure_behaviour", "when": [], "sentence": "When the ledger cannot be written, no further call is sent, and the gap is declared."},
  {"code": "evidence-gap", "group": "failure_behaviour", "when": ["gap"], "sentence": "Some events of this run could not be written to the ledger."},
  {"code": "no-end", "group": "failure_behaviour", "when": ["!ended"], "sentence": "This run's ledger has no end: what happened after its last event is unknown."},
  {"code": "orphans-ended", "group": "failure_behaviour", "when": ["subreaper"], "sentence": "When docket itself is killed, the launcher ends every process of the run."},
  {"code": "orphans-possible", "group": "failure_behaviour", "when": ["!subreaper"], "sentence": "The launcher could not be made the parent of orphaned processes: some may outlive the run."},
  {"code": "operator", "group": "trust_assumptions", "when": [], "sentence": "Whoever ran docket ran it unaltered: the chain shows that no part was changed, not that the whole is true."},
  {"code": "provider-counts", "group": "trust_assumptions", "when": ["calls"], "sentence": "Reported token counts are the provider's own."},
  {"code": "estimates", "group": "trust_assumptions", "when": ["estimates"], "sentence": "Some token counts were estimated from sizes, because the provider's were missing or unreadable."},
  {"code": "list-prices", "group": "trust_assumptions", "when": ["calls", "!quota"], "sentence": "Costs are computed from published list prices; what is billed may differ."},
  {"code": "assumed-prices", "group": "trust_assumptions", "when": ["assumed_prices"], "sentence": "Some models have no known price and were priced at an assumed one."},
  {"code": "upstream-overrides", "group": "trust_assumptions", "when": ["upstream_overrides"], "sentence": "Calls could go to the addresses named in boundary.upstream_overrides, whoever answers there."},
  {"code": "agent-asserted", "group": "trust_assumptions", "when": ["asserted"], "sentence": "Tool uses, remarks and calls that events carry as reported by the agent are its own word: docket saw none."},
  {"code": "signing-key", "group": "trust_assumptions", "when": ["signed"], "sentence": "Nobody but docket signed with the run's key: root can read it, and so can who may read where it is kept."},
  {"code": "sealing-key", "group": "trust_assumptions", "when": ["sealed"], "sentence": "Whoever can check the seal can also write it: it shows that nobody without its key changed the receipt."},
  {"code": "redacted-copy", "group": "trust_assumptions", "when": ["redacted"], "sentence": "This is a copy that hides things: that all else is as the other record had it is the word of who made it."}
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

export const RECEIPT_SHAPE = {
 "format": "docket/receipt-shape/v1",
 "ours": {
  "required": {
   "format": {"is": "docket/receipt/v1"}, "docket_number": "text", "label": "text?", "created_at": "instant",
   "tool": "@tool", "session": "@session", "policy": "@policy?", "boundary": "@boundary", "totals": "@totals",
   "model_calls": "@model_calls", "budget": "object?", "tools": "@tools", "files": "@files",
   "network": "@network", "caps": "@caps", "notes": "count{}", "event_counts": "count{}", "ledger": "@ledger",
   "price_table": "@price_table", "appendix": "@appendix", "evidence": "@evidence", "ops": "@ops",
   "isolation": "@isolation?", "findings": "any[]", "limits_disclosure": "text[]{}", "seal": "object?",
   "signature": "object?"
  },
  "optional": {
   "latency": "@latency", "pools": "@pool[]", "asserted": "@asserted", "cache": "@cache",
   "responses": "@responses", "workspace": "@workspace", "windows": "@windows", "proof": "@proof",
   "redaction": "@redaction"
  }
 },
 "v1": {
  "open": true,
  "required": {
   "format": {"is": "docket/receipt/v1"}, "docket_number": "text", "label": "text?", "created_at": "text",
   "tool": "@v1_tool", "session": "@v1_session", "policy": "@v1_policy?", "totals": "@v1_totals",
   "model_calls": "@v1_model_calls", "tools": "@v1_tools", "files": "@v1_files", "network": "@v1_network",
   "caps": "@v1_caps", "event_counts": "count{}", "ledger": "@v1_ledger", "price_table": "@v1_price_table",
   "appendix": "@v1_appendix", "evidence": "@v1_evidence", "findings": "any[]", "limits_disclosure": "text[]{}",
   "seal": "object?", "signature": "object?"
  },
  "optional": {"latency": "@latency", "cache": "object"}
 },
 "records": {
  "appendix": {
   "required": {
    "usage": "@row[]", "proof_included": {"is": true},
    "note": {"is": "Each row names its ledger event by number and hash and leads to ledger.merkle_root by its path. Its cost is recomputed from its tokens and the embedded price table alone."}
   }
  },
  "asked_by": {
   "required": {"call": "count", "seq": "count", "tools": "count", "share_usd": "amount", "derived": {"is": true}}
  },
  "asserted": {
   "required": {
    "calls": "count", "input_tokens": "count", "cached_input_tokens": "count", "output_tokens": "count",
    "notes": "count{}"
   }
  },
  "boundary": {
   "required": {"admission": "text", "listener": "object", "upstream_overrides": "object"}
  },
  "breaker": {
   "required": {
    "state": "text", "consecutive_failures": "count", "total_failures": "count", "total_successes": "count",
    "openings": "count", "cooldown_ms": "count"
   }
  },
  "cache": {
   "required": {
    "enabled": "flag", "policy": "object", "hits": "count", "saved_usd": "amount", "avoided_tokens": "count",
    "by_origin": "@hit_group[]", "hits_ceiling_reached": "flag", "note": "text"
   },
   "optional": {"component_hits": "@component_hits"}
  },
  "caps": {
   "required": {"exceeded": "count", "warnings": "count"}
  },
  "changes": {
   "required": {"added": "count", "modified": "count", "removed": "count", "retyped": "count"}
  },
  "component_hits": {
   "required": {"hits": "count", "saved_usd": "amount", "avoided_tokens": "count", "by_origin": "@hit_group[]"}
  },
  "decision": {
   "required": {"is": "text", "reason": "text?", "detail": "text?"}
  },
  "evidence": {
   "required": {
    "ledger_complete": "flag", "unwritten_events": "count", "ended": "flag", "first_failing_seq": "count?",
    "write_failures": "count", "note": "text"
   }
  },
  "excluded_write": {
   "required": {},
   "optional": {"path": "text", "path_b64": "text"}
  },
  "family": {
   "required": {"pattern": "text", "input": "text", "output": "text", "source": "text"},
   "optional": {"cached_input": "text"}
  },
  "fault_injection": {
   "required": {
    "seed": "count", "spec": "text[]", "injections": "count", "upstream_asked": "count", "by_kind": "count{}"
   }
  },
  "files": {
   "required": {
    "changed": "count", "added": "count", "modified": "count", "removed": "count", "violations": "count",
    "top_paths": "text[]", "retyped": "count", "violations_by_rule": "count{}", "passes": "@passes"
   }
  },
  "full_usage": {
   "required": {
    "input_tokens": "count", "cached_input_tokens": "count", "output_tokens": "count",
    "cache_write_tokens": "count", "cache_write_5m_tokens": "count", "cache_write_30m_tokens": "count",
    "cache_write_1h_tokens": "count", "cache_write_12h_tokens": "count", "reasoning_tokens": "count",
    "audio_input_tokens": "count", "audio_output_tokens": "count", "web_searches": "count",
    "file_searches": "count"
   },
   "optional": {
    "image_input_tokens": "count", "image_output_tokens": "count", "code_sessions": "count",
    "audio_seconds": "count"
   }
  },
  "hit_group": {
   "required": {
    "key": "text", "model": "text", "usage_source": "text", "origin_seq": "count", "hits": "count",
    "first_seq": "count", "last_seq": "count", "origin_hash": "digest", "event_hash": "digest",
    "usage": "count{}", "avoided_usd_per_hit": "amount", "avoided_usd_total": "amount", "merkle_path": "any[]"
   }
  },
  "isolation": {
   "required": {"launcher": "text[]"}
  },
  "landing_refusal": {
   "required": {"reason": "text"},
   "optional": {"path": "text", "path_b64": "text", "detail": "text", "transaction": "text"}
  },
  "latency": {
   "required": {
    "method": {"is": "nearest-rank"}, "measured_calls": "count", "total_rows": "count", "total_ms": "count",
    "max_ms": "count", "p50_ms": "count", "p95_ms": "count", "p99_ms": "count"
   }
  },
  "ledger": {
   "required": {
    "format": {"is": "docket/ledger/v1"}, "events": "count", "head": "digest", "genesis": "digest",
    "merkle_root": "digest", "file_sha256": "digest",
    "chain": {"is": "hash = sha256(canonical {data, prev, seq, ts, type}); prev = hash of the event before"}
   }
  },
  "limiter": {
   "required": {
    "per_minute": "count?", "per_second": "text?", "allowed": "count", "refused": "count", "waited": "count",
    "waited_ms": "count", "longest_wait_ms": "count"
   }
  },
  "model_calls": {
   "required": {
    "count": "count", "by_provider": "count{}", "denied": "count", "errors": "count", "admitted": "count",
    "unsettled": "integer", "outcomes": "count{}", "denied_by_reason": "count{}", "errors_by_reason": "count{}",
    "estimated": "count", "altered": "count", "other_exchanges": "count", "usage": "@full_usage"
   }
  },
  "model_sum": {
   "required": {
    "model": "text", "calls": "count", "input_tokens": "count", "cached_input_tokens": "count",
    "output_tokens": "count", "cost_usd": "amount"
   }
  },
  "network": {
   "required": {"tunnels_allowed": "count", "tunnels_denied": "count", "turned_away": "count"}
  },
  "not_covered": {
   "required": {"reason": "text"},
   "optional": {"path": "text", "path_b64": "text"}
  },
  "ops": {
   "required": {
    "circuit_breaker": "@breaker{}", "rate_limiter": "@limiter?", "snapshot": "@snapshot?",
    "rollback": "@rollback?"
   },
   "optional": {"chaos_run": {"is": true}, "fault_injection": "@fault_injection"}
  },
  "pass": {
   "required": {
    "roots": "text[]", "files": "count", "directories": "count", "symlinks": "count", "omissions": "count",
    "bytes_watched": "count", "tree_sha256": "digest"
   },
   "optional": {"unread": "count"}
  },
  "passes": {
   "required": {"before": "@pass?", "after": "@pass?"}
  },
  "policy": {
   "required": {"name": "text", "digest": "digest", "document": "object", "source": "text?"}
  },
  "pool": {
   "required": {
    "pool": "text", "daily_usd": "amount?", "weekly_usd": "amount?", "total_usd": "amount?",
    "spent_usd": "amount?", "unknown_usd": "amount?", "overshoot_usd": "amount?", "bound_usd": "amount?"
   }
  },
  "previous": {
   "required": {"session": "text", "events": "count", "head": "digest", "receipt_sha256": "digest"}
  },
  "price_document": {
   "required": {"_meta": "object", "families": "@family[]"}
  },
  "price_table": {
   "required": {
    "schema": {"is": "docket/prices/v1"}, "as_of": "text?", "digest": "digest", "document": "@price_document"
   }
  },
  "proof": {
   "required": {
    "origin": "text", "project": "text", "run": "count", "previous": "@previous?", "signature": "@signing_key?",
    "seal": "@sealing_key?"
   }
  },
  "redaction": {
   "required": {"profiles": "text[]", "replaced": "count", "not_carried": "text[]", "commitment": "digest"}
  },
  "refusal": {
   "required": {"reason": "text"},
   "optional": {"path": "text", "path_b64": "text", "detail": "text"}
  },
  "responses": {
   "required": {"kept": "count", "kept_bytes": "count", "truncated": "count", "not_kept": "count"}
  },
  "rollback": {
   "required": {"applied": "flag", "trigger": "text"},
   "optional": {
    "restored": "count", "already": "count", "refused": "count", "kept": "count", "not_covered": "count",
    "reason": "text", "detail": "text", "record": "text", "plan_sha256": "digest", "refusals": "@refusal[]"
   }
  },
  "row": {
   "required": {
    "seq": "count", "model": "text", "provider": "text", "input_tokens": "count", "cached_input_tokens": "count",
    "output_tokens": "count", "usage_source": ["reported", "estimated"], "cost_usd": "amount",
    "event_hash": "digest", "merkle_path": "proof"
   },
   "optional": {"latency_ms": "count", "cache_key": "text"}
  },
  "sealing_key": {
   "required": {"alg": {"is": "hmac-sha256"}, "key_id": "text"}
  },
  "session": {
   "required": {
    "id": "text", "argv": "text[]", "exit_code": "integer?", "duration_seconds": "text?", "breached": "text?",
    "interrupted": "flag?", "cwd": "text", "agent": "text", "started_at": "instant", "exit_source": "text?",
    "agent_exit": "object?", "host": "object"
   },
   "optional": {"argv_b64": "text[]", "cwd_b64": "text"}
  },
  "signing_key": {
   "required": {"alg": {"is": "ed25519"}, "public_key": "text"}
  },
  "snapshot": {
   "required": {"taken": "flag"},
   "optional": {
    "roots": "text[]", "files": "count", "directories": "count", "symlinks": "count", "omissions": "count",
    "bytes_watched": "count", "tree_sha256": "digest", "bytes_stored": "count", "bytes_shared": "count",
    "needed": "count", "allowed": "count", "format": "text", "store": "text", "reason": "text", "detail": "text",
    "manifest_sha256": "digest", "not_covered": "@not_covered[]", "not_covered_count": "count?"
   }
  },
  "staged": {
   "required": {
    "files": "count", "directories": "count", "symlinks": "count", "bytes": "count", "not_preserved": "count"
   }
  },
  "surface": {
   "required": {"excluded": "count", "shared": "count", "protected": "count"}
  },
  "tool": {
   "required": {"name": "text", "version": "text", "format": {"is": "docket/receipt/v1"}, "fold": "text"}
  },
  "tools": {
   "required": {"calls": "count", "names": "text[]", "failures": "count"}
  },
  "totals": {
   "required": {
    "calls": "count", "input_tokens": "count", "cached_input_tokens": "count", "output_tokens": "count",
    "total_tokens": "count", "cost_usd": "amount", "cost_basis": "text", "usage_reported_calls": "count",
    "usage_estimated_calls": "count", "asserted_calls": "count", "assumed_price_models": "text[]",
    "by_model": "@model_sum[]"
   }
  },
  "v1_appendix": {
   "open": true,
   "required": {"usage": "@v1_row[]", "proof_included": "flag"}
  },
  "v1_caps": {
   "open": true,
   "required": {"exceeded": "count", "warnings": "count"}
  },
  "v1_evidence": {
   "open": true,
   "required": {"ledger_complete": "flag", "unwritten_events": "count"}
  },
  "v1_family": {
   "open": true,
   "required": {"pattern": "text", "input": "text", "output": "text"}
  },
  "v1_files": {
   "open": true,
   "required": {
    "changed": "count", "added": "count", "modified": "count", "removed": "count", "violations": "count",
    "top_paths": "text[]"
   }
  },
  "v1_ledger": {
   "open": true,
   "required": {
    "format": {"is": "docket/ledger/v1"}, "events": "count", "head": "digest", "genesis": "digest",
    "merkle_root": "digest", "file_sha256": "digest"
   }
  },
  "v1_model_calls": {
   "open": true,
   "required": {"count": "count", "by_provider": "count{}", "denied": "count", "errors": "count"}
  },
  "v1_network": {
   "open": true,
   "required": {"tunnels_allowed": "count", "tunnels_denied": "count"}
  },
  "v1_policy": {
   "open": true,
   "required": {"name": "text", "digest": "digest", "document": "object"}
  },
  "v1_price_document": {
   "open": true,
   "required": {"families": "@v1_family[]"}
  },
  "v1_price_table": {
   "open": true,
   "required": {"digest": "digest", "document": "@v1_price_document"}
  },
  "v1_row": {
   "open": true,
   "required": {
    "seq": "count", "model": "text", "provider": "text", "input_tokens": "count", "cached_input_tokens": "count",
    "output_tokens": "count", "usage_source": ["reported", "estimated"], "cost_usd": "amount",
    "event_hash": "digest"
   },
   "optional": {"merkle_path": "proof", "latency_ms": "count?", "cache_key": "text?", "asserted_by": "text?"}
  },
  "v1_session": {
   "open": true,
   "required": {
    "id": "text", "argv": "text[]", "exit_code": "integer?", "duration_seconds": "text?", "breached": "text?",
    "interrupted": "flag?", "cwd": "text?"
   }
  },
  "v1_tool": {
   "open": true,
   "required": {"name": "text", "version": "text"},
   "optional": {"format": {"is": "docket/receipt/v1"}}
  },
  "v1_tools": {
   "open": true,
   "required": {"calls": "count", "names": "text[]", "failures": "count"}
  },
  "v1_totals": {
   "open": true,
   "required": {
    "calls": "count", "input_tokens": "count", "cached_input_tokens": "count", "output_tokens": "count",
    "total_tokens": "count", "cost_usd": "amount", "cost_basis": "text", "usage_reported_calls": "count",
    "usage_estimated_calls": "count", "asserted_calls": "count", "assumed_price_models": "text[]",
    "by_model": "@model_sum[]"
   }
  },
  "window": {
   "required": {
    "window_id": "text", "id": "text?", "name": "text", "asked_by": "@asked_by?", "before": "@window_before?",
    "after": "@window_after?", "delta": "@window_delta?"
   },
   "optional": {"repository": "text", "provider": "text", "session_id": "text", "turn_id": "text", "mode": "text"}
  },
  "window_after": {
   "required": {"seq": "count", "ok": "flag"}
  },
  "window_before": {
   "required": {"seq": "count"},
   "optional": {"group_id": "text", "tree": "text", "hashes": "text", "head": "text", "reason": "text"}
  },
  "window_delta": {
   "required": {
    "seq": "count", "members": "count", "files": "count", "scope": "text", "status": "text",
    "delta_sha256": "digest", "event_hash": "digest", "merkle_path": "any[]"
   },
   "optional": {"group_id": "text", "reason": "text", "tree_before": "text", "tree_after": "text"}
  },
  "windows": {
   "required": {
    "count": "count", "complete": "count", "partial": "count", "open": "count", "groups": "count",
    "files": "count", "partial_by_reason": "count{}", "hooks_lost": "count{}", "tools": "@window[]",
    "note": "text"
   }
  },
  "workspace": {
   "required": {
    "committed": "flag", "outcome": "text", "reason": "text?", "detail": "text?",
    "not_transactional": {"is": ["network-calls", "database-writes", "processes-started", "paths-outside-the-declared-surface"]}
   },
   "optional": {
    "transaction": "text", "backend": "text", "view": "text", "settle": "text", "store": "text",
    "approval": "text", "base_sha256": "digest", "result_sha256": "digest", "diff_sha256": "digest",
    "surface": "@surface", "staged": "@staged", "changes": "@changes", "decision": "@decision",
    "approved": "flag", "plan_sha256": "digest?", "applied": "count?", "already": "count?", "refused": "count?",
    "protected_changes": "count", "base_moved": "flag", "digests_cover": {"is": "changes"}, "unread": "count",
    "refusals": "@landing_refusal[]", "not_preserved": "@refusal[]", "excluded_writes": "@excluded_write[]",
    "excluded_write_count": "count"
   }
  }
 }
};
