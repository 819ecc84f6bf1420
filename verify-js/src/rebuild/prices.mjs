// The fold over `x-docket.price`: the table that a receipt embeds (spec/receipt.md, Price table).

import { encode, utf8 } from "../canonical.mjs";
import { moreSpecificFirst, rankOf } from "../families.mjs";
import { sha256Hex } from "../sha256.mjs";
import { orNull } from "./course.mjs";
import { SENTENCES } from "./lists.mjs";

const SCHEMA = "docket/prices/v1";
const PLACEHOLDER = { pattern: "(no call was priced)", input: "0", output: "0", source: "placeholder" };

// The member of the families that the ledger names, in its order; `source` is `prices` of session.start.
export function priceTable(families, source) {
  const asOf = orNull(source.as_of);
  const fixed = { schema: SCHEMA, currency: "USD", unit: "per_million_tokens", fallback_marker: "assumed" };
  const document = {
    _meta: { as_of: asOf, from: source, note: SENTENCES.price_table, ...fixed },
    families: families.length === 0 ? [PLACEHOLDER] : ordered(families),
  };
  return { schema: SCHEMA, as_of: asOf, digest: sha256Hex(utf8(encode(document))), document };
}

// By rank, which is made once of each: a pattern may be long.
function ordered(families) {
  const ranked = families.map((family) => ({ family, rank: rankOf(family) }));
  return ranked.sort((one, other) => moreSpecificFirst(one.rank, other.rank)).map(({ family }) => family);
}
