// Chain, figures, proofs, seal and signature of the records in records/: what can be checked of a record without a fold.
import { createHash, createHmac, createPublicKey, verify } from "node:crypto";
import { canonical } from "./canonical.mjs";

const KINDS = ["ledger-chain", "head", "event-count", "merkle-root", "ledger-file-digest", "usage-inclusion-proofs"];
const SPKI = Buffer.from("302a300506032b6570032100", "hex");
const ascending = (names) => [...names].sort((left, right) => KINDS.indexOf(left) - KINDS.indexOf(right));

// The bytes of a part of a scenario; `old` are those of the accepted record.
function bytesOf(told, old) {
  if (told === null) return null;
  if ("hex" in told) return Buffer.from(told.hex, "hex");
  if ("text" in told) return Buffer.from(told.text);
  const lines = old.toString("utf8").split("\n");
  for (const [line, number, others] of told.edits) lines.splice(line, number, ...others);
  return Buffer.from(lines.join("\n"));
}

// Both sides of a scenario, with the files told; `scenarios` are all, by name.
export function sidesOf(scenario, scenarios) {
  const { accepted, refused } = scenario;
  const files = "files_of" in accepted ? scenarios.get(accepted.files_of).accepted : accepted;
  const good = { ...accepted, receipt: bytesOf(files.receipt), ledger: bytesOf(files.ledger) };
  if (refused === undefined) return [good];
  return [good, { ...refused, receipt: bytesOf(refused.receipt, good.receipt), ledger: bytesOf(refused.ledger, good.ledger) }];
}

// The names of the checks that break; `tree` has follow, root and climb.
function broken({ receipt, ledger }, tree) {
  let found;
  try {
    found = tree.follow(ledger);
  } catch {
    return ["ledger-chain"];
  }
  const { hashes, torn } = found;
  const { events, head, genesis, merkle_root: root, file_sha256: file } = receipt.ledger;
  const rows = receipt.appendix.usage;
  const counted = Object.values(receipt.event_counts).reduce((sum, count) => sum + count, 0);
  const held = {
    "ledger-chain": hashes.length > 0 && torn === 0 && genesis === createHash("sha256").update("docket/genesis/v1").digest("hex"),
    head: head === hashes.at(-1),
    "event-count": events === hashes.length && counted === events,
    "merkle-root": root === tree.root(hashes),
    "ledger-file-digest": file === createHash("sha256").update(ledger).digest("hex"),
    "usage-inclusion-proofs": rows.every((row) => tree.climb(row.event_hash, row.merkle_path) === root),
  };
  return ascending(Object.keys(held).filter((name) => !held[name]));
}

// Whether seal and signature hold, the seal by the keys that are named.
function vouched({ receipt, seal_keys: keys = [] }) {
  const { signature, ...unsigned } = receipt;
  const { seal, ...body } = unsigned;
  const text = Buffer.from(canonical(body));
  const tag = (key) => createHmac("sha256", Buffer.from(key, "hex")).update(text).digest("hex");
  const sealed = seal === null || keys.length === 0 || keys.some((key) => tag(key) === seal.value);
  if (signature === null) return sealed;
  const key = createPublicKey({ key: Buffer.concat([SPKI, Buffer.from(signature.public_key, "hex")]), format: "der", type: "spki" });
  return sealed && verify(null, Buffer.from(canonical(unsigned)), key, Buffer.from(signature.value, "hex"));
}

// What this program says against one side of a scenario, or null.
export function against(side, tree) {
  if (side.verdict === "unreadable") return side.first_failure === null ? null : "an unreadable record fails no check";
  const told = { ...side, receipt: JSON.parse(side.receipt.toString("utf8")) };
  const good = side.verdict !== "failed";
  if (good && !vouched(told)) return "its seal or signature does not hold";
  if (side.ledger === null || (!good && side.first_failure.startsWith("receipt-"))) return null;
  const first = broken(told, tree)[0] ?? null;
  const known = KINDS.includes(side.first_failure);
  return first === (known ? side.first_failure : null) ? null : `${first} instead of ${side.first_failure}`;
}
