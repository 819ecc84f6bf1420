// Verifies a receipt, with its ledger where one is given: `verify` gives the verdict and never throws for what the
// bytes hold.

import { Case, Course, Receipt } from "./case.mjs";
import { isText } from "./canonical.mjs";
import { eachChunk } from "./chunks.mjs";
import { readPayload } from "./course/checks.mjs";
import { hexOf, isNative, longSha256 } from "./digests.mjs";
import { FOLD, LedgerReader } from "./ledger.mjs";
import { Refused, shown } from "./refused.mjs";
import { CHECKS } from "./registry.mjs";
import { FORMAT, checkReceipt } from "./receipt_shape.mjs";
import { ReceiptReader } from "./receipt_reader.mjs";
import { sha256Hex, toHex } from "./sha256.mjs";
import { Verdict, wordOf } from "./verdict.mjs";

const NO_RECEIPT = "the document has not the form of a receipt";

// The receipt as an object, its form unchecked; Refused where it is none.
async function readReceipt(source) {
  const reader = new ReceiptReader();
  await eachChunk(source, (chunk) => reader.push(chunk));
  return reader.end();
}

// The digest of a file that is at hand by the platform, which makes it beside the reading; null where it has none.
function platformDigest(source) {
  const subtle = globalThis.crypto?.subtle;
  if (subtle === undefined || !(source instanceof Uint8Array) || isNative) return null;
  return subtle.digest("SHA-256", source).then((digest) => toHex(new Uint8Array(digest)), () => sha256Hex(source));
}

// Reads the ledger and shows its events to the course.
async function readLedger(source, course) {
  const found = { ours: false, fold: undefined, payloadFault: null, last: "", keptPaths: new Set() };
  const reader = new LedgerReader((event) => {
    if (event.seq === 0 && event.type === "session.start") found.fold = event.data.fold;
    if (event.seq === 0) found.ours = found.fold === FOLD;
    found.last = event.type;
    const fault = found.ours ? readPayload(event) : null;
    found.payloadFault ??= fault;
    if (fault !== null) return;
    const { data, type } = event;
    if (type === "model.response" && data.response_retained === true) found.keptPaths.add(data.response_path);
    course.show(event, found.ours);
  });
  const aside = platformDigest(source);
  const digest = aside === null ? longSha256() : null;
  await eachChunk(source, (chunk) => {
    digest?.update(chunk);
    reader.push(chunk);
  });
  const { events, hashes, head, tree, damage, torn, sound } = reader.end();
  const whole = digest === null ? await aside : hexOf(digest);
  const ended = found.last === "session.end";
  return { events, hashes, head, tree, fileSha256: whole, damage, torn, sound, ended, ...found };
}

// All of `options` but `receipt` may be left out:
// - `receipt`, `ledger`: bytes, a Blob, or an iterable of pieces; `checkpoints`: bytes; each but `receipt` may be null.
// - `responses`: a Map from path to bytes (or as above; null: there, and not to be read), or a function that gives one for
//   the paths that the ledger names; `deltas`: a Map from digest to bytes. Null where the folder is not there.
// - `ledger`, `deltas` and `checkpoints` may be functions of the decoded receipt, whose form is not checked yet.
// - `heads`: each as readHeadWords gives it; `remembered`: what readState gives.
// - `publicKeys`, `sealKeys`: arrays of bytes; `either`: one kind of them is enough.
// - `required`: the word that `ok` asks for.
export async function verify(options) {
  const required = options.required ?? "consistent";
  let document;
  try {
    document = await readReceipt(options.receipt);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return new Verdict({ word: "unreadable", required, detail: error.message });
  }
  return judge(document, options, required);
}

async function judge(document, options, required) {
  const docketNumber = isText(document.docket_number) ? document.docket_number : null;
  const ended = (word, checks) => new Verdict({ word, required, docketNumber, checks });
  const course = new Course();
  course.checks = CHECKS.map(([, Type]) => new Type(course));
  // A ledger that cannot be read is told before the receipt is found to be none.
  const source = given(options.ledger, document) ?? null;
  const ledger = source === null ? null : await readLedger(source, course);
  if (document.format !== FORMAT) {
    const detail = `format is ${shown(document.format)}, not ${FORMAT}`;
    return ended("failed", [named("receipt-format", "fail", detail), named("receipt-shape", "skip", NO_RECEIPT), ...notRun()]);
  }
  const first = named("receipt-format", "pass", FORMAT);
  const ours = document.tool?.fold === FOLD || (ledger !== null && ledger.ours);
  const fault = checkReceipt(document, ours);
  if (fault !== null) return ended("failed", [first, named("receipt-shape", "fail", fault), ...notRun()]);
  const receipt = new Receipt(document, ours);
  const found = new Case({ receipt, ledger, course, ...beside(options, document, ledger) });
  const shape = ours ? "docket/fold/v1, exactly its members" : "another writer's, with the members of v1";
  const { checks, vouched } = await answers(found);
  const all = [first, named("receipt-shape", "pass", shape), ...checks];
  return ended(wordOf(found, all, vouched), all);
}

// What is given as it stands, or as a function of something that is known only now.
const given = (value, known) => (typeof value === "function" ? value(known) : value);

// What stands beside the ledger, and the keys that were named.
function beside(options, document, ledger) {
  const { checkpoints, heads, remembered, deltas, responses, publicKeys = [], sealKeys = [], either = false } = options;
  return {
    bodies: ledger === null ? null : given(responses, [...ledger.keptPaths].filter(isText)),
    deltas: given(deltas, document),
    checkpoints: given(checkpoints, document) ?? null,
    heads,
    remembered,
    keys: { publicKeys, sealKeys, either },
  };
}

async function answers(found) {
  const checks = [];
  let vouched = false;
  for (const [at, check] of found.course.checks.entries()) {
    const { status, detail, vouches } = await check.finish(found);
    vouched ||= vouches === true;
    checks.push(named(CHECKS[at][0], status, detail));
  }
  return { checks, vouched };
}

const named = (name, status, detail) => ({ name, status, detail });
const notRun = () => CHECKS.map(([name]) => named(name, "skip", NO_RECEIPT));
