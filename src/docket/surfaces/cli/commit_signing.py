"""The key that signs the record of a commit which comes after its run, and what is said where there is none.

Rules:
1. A key is read and tried before anything lands, by the rules that hold for a run's.
2. Without `--sign` the person's own policy names it, as for a run. One that a run was given alone is not known here.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docket.errors import DocketError
from docket.formats.dataclass import replace
from docket.formats.run.policy import Policy, ProofPolicy
from docket.formats.workspace.commit_record import decode_commit
from docket.formats.workspace.state import TransactionState
from docket.stores.unfinished import read_head
from docket.surfaces.cli import console
from docket.surfaces.cli.completing import files_like
from docket.surfaces.cli.key_choice import KeysAsked, voucher_for
from docket.surfaces.cli.policies import decide_policy
from docket.surfaces.cli.project import layout_at
from docket.surfaces.cli.transactions import transaction_world

if TYPE_CHECKING:
    from docket.engines.transaction.world import TransactionWorld
    from docket.rules.proof.ed25519 import Signer
    from docket.stores.layout import Layout

NOT_SIGNED = "the run was signed, this record is not: --sign KEY has it signed"


def sign_option(function: click.decorators.FC) -> click.decorators.FC:
    """Give a command `--sign`."""
    return click.option("--sign", metavar="KEY", shell_complete=files_like,
                        help="Sign the record of it: a file of docket keygen's, or fd:N.")(function)  # fmt: skip


def signing_world(state: TransactionState, sign: str | None) -> TransactionWorld:
    """Return the ports for one transaction, with the key that signs its record, if any.

    RefusedBeforeStartError says what is wrong with the key, or with the policy that may name one.
    """
    return _with_key(transaction_world(_layout(state)), _signer(_tree(state), sign))


def signing_worlds(states: Sequence[TransactionState], sign: str | None) -> list[TransactionWorld]:
    """Return the ports for each transaction; a key is read once for each tree."""
    signers = {tree: _signer(tree, sign) for tree in dict.fromkeys(_tree(state) for state in states)}
    return [_with_key(transaction_world(_layout(state)), signers[_tree(state)]) for state in states]


def _tree(state: TransactionState) -> Path:
    return Path(os.fsdecode(state.base.path))


def _layout(state: TransactionState) -> Layout:
    return layout_at(_tree(state), None)


def _signer(tree: Path, sign: str | None) -> Signer | None:
    named = decide_policy(tree, None, {}).policy.proof.sign if sign is None else ""
    return voucher_for(KeysAsked(sign=sign), Policy(proof=ProofPolicy(sign=named)), tree).signer


def _with_key(world: TransactionWorld, signer: Signer | None) -> TransactionWorld:
    if signer is None:
        return world
    from docket.rules.proof.commit_signature import signed_commit  # noqa: PLC0415 - what a key alone needs

    return replace(world, vouch=lambda record: signed_commit(record, signer))


def tell_of_signature(state: TransactionState, document: bytes) -> None:
    """Say who signed the record of a commit, or that nobody did though a key was to sign the run."""
    signature = decode_commit(document).signature
    if signature is not None:
        console.say(f"signed by {signature.public_key}")
    elif _was_signed(state):
        console.say(NOT_SIGNED)


def _was_signed(state: TransactionState) -> bool:
    """Whether the transaction's run said that a key would sign it."""
    if state.session_id is None:
        return False
    try:
        head = read_head(_layout(state).ledger_path(state.session_id))
    except DocketError:
        return False
    return head is not None and head.proof.get("signature") is not None
