"""JSON as both readers of documents take it: the kinds of text that parsers are known to differ over.

Each text has the value that it must have, or the reason why it is refused, by RFC 8259 and spec/canonical.md; both
readers give the same. The kinds are those of public collections of such texts: structure, numbers, texts, encodings.
"""

from __future__ import annotations

import json
from typing import Any

from docket.errors import InvalidDocumentError
from docket.formats.canonical import decode_document, encode
from verify_js.in_node import needs_node
from verify_js.test_primitives import asked

NOT_JSON, FRACTION, LARGE, DEEP = "not-json", "fraction", "integer-too-large", "too-deep"
BYTES, SURROGATE, TWICE, MARK = "not-utf8", "lone-surrogate", "duplicate-key", "byte-order-mark"

READ: list[tuple[bytes, Any]] = [
    # what stands alone, and blanks
    (b"null", None),
    (b"true", True),
    (b"false", False),
    (b'""', ""),
    (b"[]", []),
    (b"{}", {}),
    (b"0", 0),
    (b" \t\r\n[ \n] \r\n", []),
    (b'{\t"a" :\r1 ,"b":2}', {"a": 1, "b": 2}),
    (b"[[],[[]],{}]", [[], [[]], {}]),
    # numbers
    (b"-0", 0),
    (b"-0.0", 0),
    (b"0e0", 0),
    (b"0E+5", 0),
    (b"0e-5", 0),
    (b"-1", -1),
    (b"1e0", 1),
    (b"1E+2", 100),
    (b"1.0e1", 10),
    (b"100e-2", 1),
    (b"1.50e1", 15),
    (b"-12.0", -12),
    (b"9007199254740991", 2**53 - 1),
    (b"-9007199254740991", 1 - 2**53),
    (b"9007199254740991.0", 2**53 - 1),
    (b"0.9007199254740991e16", 2**53 - 1),
    (b"1e15", 10**15),
    # texts
    (b'"\\u0000"', "\0"),
    (b'"\\"\\\\\\/\\b\\f\\n\\r\\t"', '"\\/\b\f\n\r\t'),
    (b'"\\u00E9\\u00e9"', "\xe9\xe9"),
    (b'"\\ud83d\\ude00"', "\U0001f600"),
    (b'"\\uD83D\\uDE00"', "\U0001f600"),
    ('"\U0001f600\u2028\u2029"'.encode(), "\U0001f600\u2028\u2029"),
    (b'"\x7f"', "\x7f"),
    ('"\ufeff"'.encode(), "\ufeff"),
    ('"\ufffe\uffff"'.encode(), "\ufffe\uffff"),
    (b'"\\uFEFF"', "\ufeff"),
    ('"\U0010ffff"'.encode(), "\U0010ffff"),
    (b'"\\u005C\\u0022"', '\\"'),
    (b'" /* no */ // no "', " /* no */ // no "),
    # names
    (b'{"":0}', {"": 0}),
    (b'{"__proto__":1}', {"__proto__": 1}),
    (b'{"constructor":{"prototype":1}}', {"constructor": {"prototype": 1}}),
    (b'{"a":1,"A":2}', {"a": 1, "A": 2}),
    ('{"\xe9":1,"e\u0301":2}'.encode(), {"\xe9": 1, "e\u0301": 2}),
    (b'{"1":1,"01":2}', {"1": 1, "01": 2}),
    (b"[" * 64 + b"]" * 64, "64"),
]
REFUSED: list[tuple[bytes, str]] = [
    # structure
    *(
        (text, NOT_JSON)
        for text in (
            b"",
            b" ",
            b"[",
            b"]",
            b"{",
            b"}",
            b"[1",
            b"[1,",
            b"[,1]",
            b"[1,,2]",
            b"[1,]",
            b"[1 2]",
            b"[1:2]",
            b"[1}",
            b"{]",
            b"[]]",
            b"[][]",
            b'{"a"}',
            b'{"a":}',
            b'{"a" 1}',
            b'{"a":1,}',
            b'{,"a":1}',
            b'{"a":1 "b":2}',
            b'{"a":1,,"b":2}',
            b'{"a"::1}',
            b"{a:1}",
            b"{1:1}",
            b"{'a':1}",
            b"{null:1}",
            b'{"a":1',
            b'{"a":',
            b'{"a"',
            b'{"a":1}x',
            b'{"a":1}{}',
            b'{"a":1}#',
            b"1 1",
            b"nul",
            b"nulll",
            b"True",
            b"NULL",
            b"undefined",
            b"[1]//",
            b"/*1*/1",
            b"[1]/**/",
            b"# 1\n1",
            b"[\x0b1]",
            b"[\x0c1]",
            b"1\0",
            b"\0",
            b"[\0]",
            "[\u00a0]".encode(),
            "[\u2060]".encode(),
            "\u20281".encode(),
            b"*",
            b"<null>",
            b"[a]",
            b"['a']",
            b"[`a`]",
            b'["a"',
            b"\\n",
        )
    ),
    # numbers
    *(
        (text, NOT_JSON)
        for text in (
            b"+1",
            b"-",
            b"--1",
            b"-+1",
            b"01",
            b"-01",
            b"00",
            b"1.",
            b"-1.",
            b".1",
            b"-.1",
            b"1.e1",
            b"1e",
            b"1e+",
            b"1E-",
            b"1e1.5",
            b"1ee1",
            b"1e1e1",
            b"0x1",
            b"1_000",
            b"1,000",
            b"1 000",
            b"0b1",
            b"0o7",
            b"Infinity",
            b"-Infinity",
            b"NaN",
            b"-NaN",
            b"inf",
            b"1f",
            b"1n",
            b"1.0.2",
            b"1+1",
            b"- 1",
            b"1a",
            b"\xd9\xa1",
            b"\xef\xbc\x91",
            b"1e\xef\xbc\x91",
            b"++1",
            b"0e",
            b"0e+-1",
            b"2.e3",
            b"2.e-3",
            b"0.e1",
            b"3.0e",
        )
    ),
    *(
        (text, FRACTION)
        for text in (
            b"0.5",
            b"-0.1",
            b"1.5e0",
            b"1e-1",
            b"123e-4",
            b"1.0000000000000000000001",
            b"1e-400",
            b"0.1e0",
            b"9007199254740990.5",
            b"4.9e-324",
            b"10e-2",
            b"123456789012345678901234567890.5",
        )
    ),
    *(
        (text, LARGE)
        for text in (
            b"9007199254740992",
            b"-9007199254740992",
            b"1e16",
            b"9007199254740992.0",
            b"0.9007199254740992e16",
            b"1e400",
            b"-1e400",
            b"123123123123123123123123123123",
            b"1e+99999999999",
            b"100000000000000000000.0",
            b"18446744073709551616",
            b"1.7976931348623157e308",
        )
    ),
    # texts
    *(
        (text, NOT_JSON)
        for text in (
            b'"',
            b'"a',
            b'"\\',
            b'"\\"',
            b'"\\x41"',
            b'"\\u"',
            b'"\\u004"',
            b'"\\u004g"',
            b'"\\U0041"',
            b'"\\0"',
            b'"\\\'"',
            b'"\\a"',
            b'"\\e"',
            b'"\\ "',
            b'"\\\n"',
            b'"\n"',
            b'"\t"',
            b'"\x00"',
            b'"\x1f"',
            b'"\\u 041"',
            b'"\\u+041"',
            b'"\\u{41}"',
            b'"\\ud83d\\u"',
            b'"\\u-041"',
            b'"\\u0_41"',
            '"\\u\uff11\uff11\uff11\uff11"'.encode(),
            '"\\u\u0661\u0661\u0661\u0661"'.encode(),
        )
    ),
    *(
        (text, SURROGATE)
        for text in (
            b'"\\ud800"',
            b'"\\udc00"',
            b'"\\ude00\\ud83d"',
            b'"\\ud800\\ud800"',
            b'"\\ud800\\n"',
            b'"\\ud83d x \\ude00"',
            b'{"\\ud800":1}',
            b'"\\uDFFF"',
        )
    ),
    # names
    *(
        (text, TWICE)
        for text in (
            b'{"a":1,"a":1}',
            b'{"a":1,"b":2,"a":3}',
            b'{"a":1,"\\u0061":2}',
            b'{"":1,"":2}',
            b'[{"x":{"a":0,"a":0}}]',
            b'{"__proto__":1,"__proto__":2}',
            b'{"\\ud83d\\ude00":1,"\xf0\x9f\x98\x80":2}',
        )
    ),
    # encodings
    *(
        (text, BYTES)
        for text in (
            b'"\xff"',
            b'"\xc3"',
            b'"\xc3\x28"',
            b'"\xe9"',
            b'"\xc0\xaf"',
            b'"\xe0\x80\xaf"',
            b'"\xf0\x80\x80\xaf"',
            b'"\xed\xa0\x80"',
            b'"\xed\xb0\x80\xed\xa0\x80"',
            b'"\xf4\x90\x80\x80"',
            b'"\xf8\x88\x80\x80\x80"',
            b'"\x80"',
            b"\xff\xfe[\x00]\x00",
            b"\xfe\xff\x00[\x00]",
            b"1\xff",
            b"\xf0\x9f\x98",
            b'{"\xe9":1}',
            b"[\xe9]",
        )
    ),
    (b"\xef\xbb\xbf{}", MARK),
    (b"\xef\xbb\xbf", MARK),
    (b"\xef\xbb\xbf\xef\xbb\xbf1", MARK),
    (b"[" * 65 + b"]" * 65, DEEP),
    (b'{"a":' * 65 + b"1" + b"}" * 65, DEEP),
    (b'[{"a":' * 33 + b"[]" + b"}]" * 33, DEEP),
]


def here(text: bytes) -> Any:
    """The canonical text of a document, or why it is refused."""
    try:
        return encode(decode_document(text)).decode("utf-8")
    except InvalidDocumentError as error:
        return {"refused": str(error.reason)}


def expected() -> list[tuple[bytes, Any]]:
    """Each text with what a reader must say of it."""
    read = [(text, text.decode() if value == "64" else canonical(value)) for text, value in READ]
    return [*read, *((text, {"refused": reason}) for text, reason in REFUSED)]


def canonical(value: Any) -> str:
    """The value by the standard library, which sorts and escapes as the specification says."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def test_docket_reads_each_kind_as_it_must() -> None:
    assert [(text, here(text), wanted) for text, wanted in expected() if here(text) != wanted] == []
    assert len(expected()) > 200


@needs_node
def test_so_does_verify_js() -> None:
    answers = asked(["document", text.hex()] for text, _ in expected())
    wrong = [
        (text, answer, wanted) for (text, wanted), answer in zip(expected(), answers, strict=True) if answer != wanted
    ]
    assert wrong == []
