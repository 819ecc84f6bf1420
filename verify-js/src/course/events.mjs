// Written by tools/write_verify_js_lists.py from spec/*.json of these names: change those.

export const EVENTS = {
 "format": "docket/events/v1",
 "instant": "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)(\\.[0-9]{1,9})?Z$",
 "records": {
  "cache_mark": {
   "required": {"stored": "flag"},
   "optional": {"key": "text", "reason": "text"}
  },
  "component": {
   "required": {
    "model": "text", "input_tokens": "integer", "cached_input_tokens": "integer", "output_tokens": "integer",
    "cost_usd": "amount"
   }
  },
  "entry_state": {
   "required": {"kind": "text", "mode": "integer"},
   "optional": {"size": "integer", "sha256": "digest", "target": "text", "target_b64": "text"}
  },
  "excluded_write": {
   "required": {"path": "path"}
  },
  "omitted_path": {
   "required": {"path": "path", "reason": "text"},
   "optional": {"detail": "text"}
  },
  "origin": {
   "required": {"seq": "integer", "hash": "digest"}
  },
  "previous_run": {
   "required": {"session": "text", "events": "integer", "head": "digest", "receipt_sha256": "digest"}
  },
  "proof_facts": {
   "required": {"origin": "text", "project": "text", "run": "integer"},
   "optional": {"previous": "@previous_run", "signature": "@signing_key", "seal": "@sealing_key"}
  },
  "redaction_facts": {
   "required": {"profiles": "text[]", "replaced": "integer", "not_carried": "text[]", "commitment": "digest"}
  },
  "refused_change": {
   "required": {"path": "path", "reason": "text"},
   "optional": {"detail": "text", "transaction": "text"}
  },
  "scope_use": {
   "required": {
    "scope": "text", "name": "text", "spent_usd": "amount", "tokens": "integer", "calls": "integer",
    "bound_usd": "amount"
   },
   "optional": {"cap_usd": "amount", "cap_tokens": "integer", "cap_calls": "integer"}
  },
  "sealing_key": {
   "required": {"alg": ["hmac-sha256"], "key_id": "text"}
  },
  "signing_key": {
   "required": {"alg": ["ed25519"], "public_key": "text"}
  },
  "usage": {
   "required": {"input_tokens": "count", "cached_input_tokens": "count", "output_tokens": "count"},
   "optional": {
    "cache_write_tokens": "positive", "cache_write_5m_tokens": "positive", "cache_write_30m_tokens": "positive",
    "cache_write_1h_tokens": "positive", "cache_write_12h_tokens": "positive", "reasoning_tokens": "positive",
    "audio_input_tokens": "positive", "audio_output_tokens": "positive", "web_searches": "positive",
    "file_searches": "positive", "image_input_tokens": "positive", "image_output_tokens": "positive",
    "code_sessions": "positive", "audio_seconds": "positive"
   },
   "sum": ["cached_input_tokens", "cache_write_tokens", "cache_write_5m_tokens", "cache_write_30m_tokens", "cache_write_1h_tokens", "cache_write_12h_tokens"],
   "at_most": "input_tokens"
  },
  "usage_part": {
   "required": {"model": "text", "usage": "@usage"}
  },
  "window_begun": {
   "required": {
    "window_id": "text", "repository": "text", "provider": "text", "session_id": "text", "turn_id": "text",
    "mode": "text"
   },
   "optional": {
    "group_id": "text", "tree": "text", "hashes": ["sha1", "sha256", "content-sha256"], "head": "text",
    "reason": "text"
   }
  }
 },
 "types": {
  "session.start": {
   "required": {
    "session_id": "text", "docket_number": "text", "argv": "text[]", "cwd": "text", "tool": "text",
    "version": "text", "fold": "text", "agent": "text", "admission": "text", "boundary": "object",
    "upstream_overrides": "object", "host": "object", "prices": "object"
   },
   "optional": {"label": "text", "argv_b64": "text[]", "cwd_b64": "text", "proof": "@proof_facts",
    "redaction": "@redaction_facts"}
  },
  "policy.applied": {
   "required": {"name": "text", "digest": "digest", "document": "object"},
   "optional": {"source": "text"}
  },
  "policy.violation": {
   "required": {"rule": "text", "detail": "text"},
   "optional": {"path": "path"}
  },
  "note": {
   "required": {"code": "text", "message": "text"},
   "optional": {"detail": "object", "reported_by": ["agent"], "event": "text"}
  },
  "fs.snapshot": {
   "required": {
    "phase": ["before", "after", "contents"], "roots": "text[]", "files": "integer", "directories": "integer",
    "symlinks": "integer", "omissions": "integer", "bytes_watched": "integer", "tree_sha256": "digest"
   },
   "optional": {
    "format": "text", "manifest_sha256": "digest", "store": "text", "bytes_stored": "integer",
    "bytes_shared": "integer", "not_covered": "integer", "unread": "integer"
   }
  },
  "x-docket.omissions": {
   "required": {"phase": ["before", "after", "contents"], "omissions": "@omitted_path[]"}
  },
  "fs.change": {
   "required": {"path": "path", "change": ["added", "modified", "removed", "retyped"]},
   "optional": {"before": "@entry_state", "after": "@entry_state"}
  },
  "proc.spawn": {
   "required": {"argv": "text[]", "cwd": "text", "env_set": "text[]", "isolation": "text[]"},
   "optional": {"argv_b64": "text[]", "cwd_b64": "text"}
  },
  "proc.exit": {
   "required": {"exit_code": "integer", "leftover_processes": "integer"},
   "optional": {"signal": "text", "terminated_by": "text"}
  },
  "model.request": {
   "required": {
    "call": "integer", "provider": "text", "wire": "text", "model": "text", "method": "text", "path": "text",
    "streaming": "flag", "fingerprint": "text", "request_sha256": "digest", "body_bytes": "integer"
   },
   "optional": {
    "model_b64": "text", "forwarded_sha256": "digest", "altered": "text[]", "held_usd": "amount",
    "agent_id": "text"
   }
  },
  "model.response": {
   "required": {
    "call": "integer", "provider": "text", "model": "text", "status": "integer",
    "outcome": ["complete", "cut", "client_gone", "upstream_broken"], "latency_ms": "integer",
    "usage": "@usage", "usage_source": ["reported", "estimated"], "components": "@component[]",
    "cost_usd": "amount", "cumulative_cost_usd": "amount", "assumed_price": "flag", "streaming": "flag",
    "response_bytes": "integer", "response_sha256": "digest"
   },
   "optional": {
    "model_b64": "text", "requested_model": "text", "first_byte_ms": "integer", "usage_note": "text",
    "usage_parts": "@usage_part[]", "service_tier": "text", "speed": "text", "inference_geo": "text",
    "upstream_cost_usd": "text", "provider_request_id": "text", "cache": "@cache_mark",
    "response_retained": "flag", "response_path": "text", "response_stored_bytes": "integer",
    "response_stored_sha256": "digest", "response_truncated": "flag", "response_note": "text",
    "tool_use_ids": "text[]"
   }
  },
  "model.error": {
   "required": {
    "call": "integer", "provider": "text", "model": "text", "status": "integer", "latency_ms": "integer",
    "reason": "text", "error": "text", "response_bytes": "integer"
   },
   "optional": {"response_sha256": "digest"}
  },
  "model.denied": {
   "required": {
    "provider": "text", "model": "text", "reason": "text", "detail": "text", "status": "integer",
    "path": "text"
   },
   "optional": {"cap": "text"}
  },
  "x-docket.other": {
   "required": {"provider": "text", "method": "text", "path": "text", "status": "integer", "response_bytes": "integer"}
  },
  "x-docket.price": {
   "required": {"pattern": "text", "input": "price", "output": "price", "source": "text"},
   "optional": {"cached_input": "price"}
  },
  "model.cache_hit": {
   "required": {
    "provider": "text", "model": "text", "key": "text", "origin": "@origin", "method": "text", "path": "text",
    "request_sha256": "digest", "body_bytes": "integer", "fingerprint": "text", "status": "integer",
    "streaming": "flag", "usage": "@usage", "usage_source": ["reported", "estimated"],
    "avoided_cost_usd": "amount", "response_bytes": "integer", "response_sha256": "digest", "age_ms": "integer"
   }
  },
  "x-docket.cache-hit": {
   "required": {
    "provider": "text", "model": "text", "key": "text", "origin": "@origin", "method": "text", "path": "text",
    "request_sha256": "digest", "body_bytes": "integer", "fingerprint": "text", "status": "integer",
    "streaming": "flag", "usage": "@usage", "usage_source": ["reported", "estimated"],
    "avoided_cost_usd": "amount", "response_bytes": "integer", "response_sha256": "digest", "age_ms": "integer"
   }
  },
  "cap.warning": {
   "required": {"cap": "text", "threshold": "text", "used_pct": "text", "used": "text", "limit": "text"},
   "optional": {"scope": "text", "scope_name": "text"}
  },
  "cap.exceeded": {
   "required": {
    "cap": "text", "limit": "text", "used": "text", "cost_usd": "amount", "tokens": "integer",
    "calls": "integer", "action": "text", "detail": "text"
   },
   "optional": {"scope": "text", "scope_name": "text"}
  },
  "x-docket.budget": {
   "required": {
    "admission": "text", "spent_usd": "amount", "overshoot_usd": "amount", "bound_usd": "amount",
    "peak_held_usd": "amount"
   },
   "optional": {"cap_usd": "amount", "scopes": "@scope_use[]"}
  },
  "net.denied": {
   "required": {"reason": "text", "kind": "text", "count": "integer"},
   "optional": {"host": "text", "port": "integer"}
  },
  "net.allowed": {
   "required": {"tunnel": "integer", "kind": "text", "host": "text", "port": "integer"},
   "optional": {"address": "text", "method": "text"}
  },
  "x-docket.net-closed": {
   "required": {
    "tunnel": "integer", "outcome": ["closed", "agent_reset", "host_reset", "cut", "unreachable"],
    "sent_bytes": "integer", "received_bytes": "integer", "duration_ms": "integer"
   },
   "optional": {"status": "integer"}
  },
  "tool.call": {
   "required": {"name": "text"},
   "optional": {
    "id": "text", "input_bytes": "integer", "input_sha256": "digest", "reported_by": ["agent"],
    "window": "@window_begun"
   }
  },
  "tool.result": {
   "required": {"name": "text", "ok": "flag"},
   "optional": {
    "id": "text", "result_bytes": "integer", "result_sha256": "digest", "duration_ms": "integer",
    "error": "text", "reported_by": ["agent"], "window_id": "text"
   }
  },
  "x-docket.asserted-call": {
   "required": {
    "provider": "text", "model": "text", "input_tokens": "integer", "cached_input_tokens": "integer",
    "output_tokens": "integer", "reported_by": ["agent"]
   },
   "optional": {"latency_ms": "integer"}
  },
  "x-docket.pool": {
   "required": {"pool": "text"},
   "optional": {"daily_usd": "amount", "weekly_usd": "amount", "total_usd": "amount"}
  },
  "x-docket.pool-use": {
   "required": {
    "pool": "text", "spent_usd": "amount", "unknown_usd": "amount", "overshoot_usd": "amount",
    "bound_usd": "amount"
   }
  },
  "x-docket.evidence-gap": {
   "required": {"first_failing_seq": "integer", "unwritten_events": "integer", "detail": "text"}
  },
  "session.end": {
   "required": {
    "exit_code": "integer", "exit_source": ["agent", "cap", "docket", "signal"], "duration_seconds": "text",
    "interrupted": "flag", "cost_usd": "amount"
   },
   "optional": {"breached": "text"}
  },
  "x-docket.paced": {
   "required": {"provider": "text", "model": "text", "waited_ms": "integer"}
  },
  "x-docket.breaker": {
   "required": {
    "provider": "text", "upstream": "text", "state": ["closed", "open", "half_open"], "failures": "integer",
    "cooldown_ms": "integer"
   }
  },
  "x-docket.fault-plan": {
   "required": {"seed": "integer", "spec": "text[]"}
  },
  "x-docket.fault": {
   "required": {"call": "integer", "kind": "text", "detail": "text", "asked": "flag"}
  },
  "x-docket.snapshot-refused": {
   "required": {"reason": "text", "detail": "text"},
   "optional": {"needed": "integer", "allowed": "integer"}
  },
  "x-docket.rollback-applied": {
   "required": {
    "trigger": "text", "plan_sha256": "digest", "restored": "integer", "already": "integer",
    "refused": "integer", "kept": "integer", "not_covered": "integer", "record": "text",
    "refusals": "@omitted_path[]"
   }
  },
  "x-docket.rollback-refused": {
   "required": {"trigger": "text", "reason": "text", "detail": "text"},
   "optional": {"refused": "integer", "record": "text"}
  },
  "x-docket.workspace-opened": {
   "required": {
    "transaction": "text", "backend": ["copy", "reflink", "overlay"], "view": ["stage", "base-path"],
    "settle": "text", "manifest_sha256": "digest", "files": "integer", "directories": "integer",
    "symlinks": "integer", "bytes_staged": "integer", "excluded": "integer", "shared": "integer",
    "protected": "integer", "approved": "flag", "not_preserved": "integer", "store": "text"
   },
   "optional": {"unread": "integer"}
  },
  "x-docket.workspace-refused": {
   "required": {"reason": "text", "detail": "text"}
  },
  "x-docket.workspace-intent": {
   "required": {
    "transaction": "text", "decision": ["commit", "review", "discard"], "result_sha256": "digest",
    "diff_sha256": "digest", "added": "integer", "modified": "integer", "removed": "integer",
    "retyped": "integer", "protected": "integer", "approval": "text", "base_moved": "flag",
    "not_preserved": "@omitted_path[]", "excluded_writes": "@excluded_write[]",
    "excluded_write_count": "integer"
   },
   "optional": {"reason": "text", "detail": "text"}
  },
  "x-docket.workspace-settled": {
   "required": {"transaction": "text", "outcome": ["committed", "refused", "discarded", "left-for-review", "interrupted"]},
   "optional": {
    "reason": "text", "detail": "text", "plan_sha256": "digest", "applied": "integer", "already": "integer",
    "refused": "integer", "refusals": "@refused_change[]"
   }
  },
  "x-docket.tool-delta": {
   "required": {
    "window_id": "text", "id": "text", "name": "text", "delta_sha256": "digest",
    "scope": ["tool", "concurrent_group"], "status": ["complete", "partial"], "members": "integer",
    "files": "integer"
   },
   "optional": {"group_id": "text", "reason": "text", "tree_before": "text", "tree_after": "text"}
  },
  "x-docket.hook-lost": {
   "required": {"kind": "text", "count": "integer"}
  },
  "x-docket.checkpoint": {
   "required": {"number": "integer", "size": "integer", "root": "digest"}
  }
 }
};
