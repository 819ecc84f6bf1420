"""Reason codes: append-only, persisted, one per cause. The prose beside a code is its `detail`.

A code's text never changes once it has been written to a record.
"""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why something was refused, left out or ended."""

    # documents
    NOT_UTF8 = "not-utf8"
    NOT_JSON = "not-json"
    BYTE_ORDER_MARK = "byte-order-mark"
    NOT_CANONICAL = "not-canonical"
    LONE_SURROGATE = "lone-surrogate"
    INTEGER_TOO_LARGE = "integer-too-large"
    FRACTION = "fraction"
    DUPLICATE_KEY = "duplicate-key"
    TOO_DEEP = "too-deep"
    TOO_LARGE = "too-large"
    WRONG_TYPE = "wrong-type"
    WRONG_VALUE = "wrong-value"
    MISSING_MEMBER = "missing-member"
    UNKNOWN_MEMBER = "unknown-member"
    UNKNOWN_FORMAT = "unknown-format"
    NOT_A_DIGEST = "not-a-digest"
    NOT_AN_AMOUNT = "not-an-amount"
    NOT_A_PATH = "not-a-path"
    NOT_AN_INSTANT = "not-an-instant"

    # ledger
    BROKEN_CHAIN = "broken-chain"
    TORN_TAIL = "torn-tail"
    LEDGER_DAMAGED = "ledger-damaged"
    LEDGER_CLOSED = "ledger-closed"
    LEDGER_FULL = "ledger-full"
    WRITE_FAILED = "write-failed"

    # host and stores
    IS_A_SYMLINK = "is-a-symlink"
    NOT_A_DIRECTORY = "not-a-directory"
    NOT_A_FILE = "not-a-file"
    NOT_FOUND = "not-found"
    NOT_PERMITTED = "not-permitted"
    NO_SPACE = "no-space"
    LOCKED = "locked"
    UNSUPPORTED_PLATFORM = "unsupported-platform"
    ALREADY_EXISTS = "already-exists"
    READ_ONLY = "read-only"
    QUOTA_EXCEEDED = "quota-exceeded"
    FILE_SIZE_LIMIT = "file-size-limit"
    IO_ERROR = "io-error"
    NOT_OURS = "not-ours"
    POOLS_DAMAGED = "pools-damaged"
    IN_USE = "in-use"
    REGISTRY_CORRUPT = "registry-corrupt"

    # keys
    KEY_UNUSABLE = "key-unusable"
    KEY_EXPOSED = "key-exposed"

    # omissions of a scan
    SPECIAL_FILE = "special-file"
    UNREADABLE = "unreadable"
    CHANGED_WHILE_READ = "changed-while-read"
    VANISHED = "vanished"
    OTHER_FILE_SYSTEM = "other-file-system"
    EXCLUDED = "excluded"
    OBJECT_STORE = "object-store"
    NAME_TOO_LONG = "name-too-long"
    ROOT_REPLACED = "root-replaced"

    # outcomes of a plan's steps
    CHANGED_SINCE = "changed-since"
    NOT_EMPTY = "not-empty"
    TOO_MANY_LINKS = "too-many-links"
    MOVED_WHILE_WRITTEN = "moved-while-written"
    CONTENT_MISSING = "content-missing"
    CONTENT_DAMAGED = "content-damaged"
    LEFT_ASIDE = "left-aside"
    ROLLED_BACK = "rolled-back"

    # what a restore leaves as it is
    DOCUMENTS_DISAGREE = "documents-disagree"
    NOT_COVERED = "not-covered"
    NOT_RECORDED = "not-recorded"
    NOT_SELECTED = "not-selected"
    GIT_METADATA = "git-metadata"
    PLAN_DIFFERS = "plan-differs"
    NOTHING_CHANGED = "nothing-changed"
    STILL_RUNNING = "still-running"
    VERIFICATION_FAILED = "verification-failed"

    # workspace transactions
    NESTED = "nested"
    LEADS_INTO_BASE = "leads-into-base"
    INTERRUPTED_APPLY = "interrupted-apply"
    NOT_AUTHENTIC = "not-authentic"
    SETTLE_REVIEW = "settle-review"
    SETTLE_DISCARD = "settle-discard"
    RUN_BREACHED = "run-breached"
    RUN_INTERRUPTED = "run-interrupted"
    AGENT_FAILED = "agent-failed"
    POLICY_VIOLATED = "policy-violated"
    LAST_CALL_FAILED = "last-call-failed"
    BASE_DRIFT = "base-drift"
    PROTECTED_PATH = "protected-path"
    SHARED_INODE = "shared-inode"
    NOT_CLOSED = "not-closed"
    MERGE_CONFLICT = "merge-conflict"
    NOT_MERGEABLE = "not-mergeable"

    # policy and start of a run
    POLICY_INVALID = "policy-invalid"
    USAGE = "usage"
    AGENT_UNSUPPORTED = "agent-unsupported"
    PROGRAM_MISSING = "program-missing"
    PROGRAM_NOT_RUNNABLE = "program-not-runnable"
    BASE_REFUSED = "base-refused"
    LAUNCHER_LOST = "launcher-lost"

    # backends of a transaction
    NAMESPACES_REFUSED = "namespaces-refused"
    MOUNT_FAILED = "mount-failed"
    OVERLAY_REFUSED = "overlay-refused"
    REFLINK_UNSUPPORTED = "reflink-unsupported"

    # boundary refusals
    MAX_USD = "max_usd"
    MAX_TOKENS = "max_tokens"
    MAX_MODEL_CALLS = "max_model_calls"
    MAX_WALL_SECONDS = "max_wall_seconds"
    MAX_REPEATS = "max_repeats"
    POOL_DAILY = "pool_daily_usd"
    POOL_WEEKLY = "pool_weekly_usd"
    POOL_TOTAL = "pool_total_usd"
    POOL_UNAVAILABLE = "pool_unavailable"
    MODEL_POLICY = "model_policy"
    UNKNOWN_MODEL = "unknown_model"
    UNKNOWN_ENDPOINT = "unknown_endpoint"
    UNKNOWN_PROVIDER = "unknown_provider"
    BODY_UNREADABLE = "body_unreadable"
    EVIDENCE_FAILED = "evidence_failed"
    RUN_ENDING = "run_ending"
    RATE_LIMITED = "rate_limited"
    CIRCUIT_OPEN = "circuit_open"
    BAD_TOKEN = "bad_token"  # noqa: S105 - a reason code, not a secret
    ASSERTION_LIMIT = "assertion_limit"

    # destinations through the proxy
    EGRESS_HOST = "egress_host"
    EGRESS_MODEL_HOST = "egress_model_host"
    EGRESS_ADDRESS = "egress_address"

    # boundary faults
    UPSTREAM_UNREACHABLE = "upstream_unreachable"
    UPSTREAM_BROKEN = "upstream_broken"
    CLIENT_GONE = "client_gone"
    MALFORMED_MESSAGE = "malformed_message"
    UPGRADE_REFUSED = "upgrade_refused"
    SIGNED_FOR_HOST = "signed_for_host"
    UPSTREAM_STATUS = "upstream_status"
    UPSTREAM_ERROR_EVENT = "upstream_error_event"
    INJECTED_FAULT = "injected_fault"


TRANSPORT_FAULTS = frozenset((Reason.UPSTREAM_UNREACHABLE, Reason.UPSTREAM_BROKEN, Reason.INJECTED_FAULT))
"""Why there was no whole reply of an upstream: what a breaker counts, and a receipt with it."""
