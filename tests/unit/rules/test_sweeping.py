"""What a sweep takes: what nobody needs, and the space between what somebody does."""

from __future__ import annotations

from docket.formats.tree.pack import Pack
from docket.rules.tree.sweeping import MAX_SMALL_PACKS, sweep

A, B, C = (bytes([n]) * 32 for n in (1, 2, 3))


def closed(contents):
    """The bytes of a pack by tar's own arithmetic: blocks of 512, a header each, index, seal and the end."""
    blocks = sum(1 + -(-size // 512) for size in contents)
    return 512 * (blocks + 1 + -(-48 * len(contents) // 512) + 2 + 2)


def pack(name, **sizes):
    rows, offset = [], 512
    for key, size in sizes.items():
        rows.append(({"a": A, "b": B, "c": C}[key], offset, size))
        offset += 512 + size + -size % 512
    return Pack(name=name, size_bytes=closed(sizes.values()), rows=rows)


def test_what_nobody_needs_goes():
    one = pack("1.tar", a=10, b=20)
    done = sweep([one], {C: 7}, set())
    assert (done.files, done.packs, done.rewritten, done.freed_bytes) == ((C,), ("1.tar",), (), 7 + one.size_bytes)


def test_what_is_needed_stays():
    done = sweep([pack("1.tar", a=10, b=20)], {C: 7}, {A, B, C})
    assert (done.files, done.packs, done.rewritten, done.freed_bytes) == ((), (), (), 0)


def test_a_pack_that_is_mostly_needed_is_left():
    assert sweep([pack("1.tar", a=100_000, b=20_000)], {}, {A}).rewritten == ()


def test_a_pack_that_is_a_quarter_waste_is_written_anew():
    one = pack("1.tar", a=100_000, b=50_000)
    done = sweep([one], {}, {A})
    assert done.rewritten == (("1.tar", (one.rows[0],)),)
    assert done.freed_bytes == closed([100_000, 50_000]) - closed([100_000])


def test_the_first_of_two_packs_keeps_what_both_hold():
    one, two = pack("1.tar", a=10), pack("2.tar", a=10)
    assert sweep([two, one], {}, {A}).packs == ("2.tar",)


def test_many_small_packs_become_one():
    packs = [Pack(name=f"{n:02}", size_bytes=closed([1]), rows=[(bytes([n]) * 32, 512, 1)]) for n in range(20)]
    needed = {row[0] for one in packs for row in one.rows}
    assert len(sweep(packs, {}, needed).rewritten) == 20
    assert sweep(packs[:MAX_SMALL_PACKS], {}, needed).rewritten == ()
