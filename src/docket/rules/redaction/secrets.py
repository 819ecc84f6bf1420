"""What looks like a secret in a text: forms that keys, tokens and passwords are known to have.

Rules: a form is sure enough that what it matches is hardly anything else; what is named like a secret (`token=…`) is
taken at its name. Nothing here finds a secret that has no form.
"""

from __future__ import annotations

import re

HIDDEN = "[secret]"
_NAMED = (
    r"[A-Za-z0-9_.-]*(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential)s?"
)
_FORMS = re.compile(
    r"""
      -----BEGIN\ [A-Z0-9 ]*PRIVATE\ KEY-----[\s\S]*?(?:-----END\ [A-Z0-9 ]*PRIVATE\ KEY-----|\Z)
    | AGE-SECRET-KEY-1[A-Z0-9]{20,}
    | (?<![A-Za-z0-9])(?:
          sk-[A-Za-z0-9_-]{16,}
        | gh[oprsu]_[A-Za-z0-9]{20,}
        | github_pat_[A-Za-z0-9_]{20,}
        | glpat-[A-Za-z0-9_-]{16,}
        | (?:AKIA|ASIA)[A-Z0-9]{16}
        | AIza[A-Za-z0-9_-]{30,}
        | ya29\.[A-Za-z0-9_-]{16,}
        | xox[abeoprs]-[A-Za-z0-9-]{10,}
        | (?:hf|npm|pypi|dop_v1|shpat|rk_live|sk_live|whsec)[_-][A-Za-z0-9_-]{16,}
        | eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?
      )
    """,
    re.VERBOSE,
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)(\s+)[A-Za-z0-9._~+/=-]{12,}")
_USER = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)[^/@\s]+@")
_ASSIGNED = re.compile(rf"(?i)(?<![A-Za-z0-9])({_NAMED}[\"']?\s*[=:]\s*)(\[secret\]|\"[^\"]*\"|'[^']*'|[^\s,;&\"']+)")
_OPTION = re.compile(rf"(?i)--?{_NAMED}")


def without_secrets(text: str) -> str:
    """Return a text with HIDDEN in place of each secret; the name of one that is assigned to stays."""
    text = _FORMS.sub(HIDDEN, text)
    text = _BEARER.sub(rf"\1\2{HIDDEN}", text)
    text = _USER.sub(rf"\1{HIDDEN}@", text)
    return _ASSIGNED.sub(lambda found: found[1] + HIDDEN, text)


def has_form(text: str) -> bool:
    """Whether a secret of a known form stands in a text."""
    return _FORMS.search(text) is not None


def argv_without_secrets(argv: list[str]) -> list[str]:
    """Return a command line without secrets: what stands behind an option that is named like one is one."""
    found, is_next = [], False
    for word in argv:
        found.append(HIDDEN if is_next else without_secrets(word))
        is_next = _OPTION.fullmatch(word) is not None
    return found
