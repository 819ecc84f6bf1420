// Asks verify-js whether a receipt is the one that its ledger gives: by receipt-rebuild, and by usage-rows-rebound,
// which compares the rows for it. What has not the form of a receipt is asked neither.
//
// Each line of the standard input is {receipt, ledger, changes, form}: two texts in base64, a list of [path, other], and
// whether the form is asked too. Each line of the output is {fault, rebuild, changed}: the first payload that was refused,
// how receipt-rebuild ended, and how the first of both that did not pass ended for the receipt with each change made.
import { createInterface } from "node:readline";

import { Course, Receipt } from "../../verify-js/src/case.mjs";
import { decodeDocument } from "../../verify-js/src/canonical.mjs";
import { readPayload } from "../../verify-js/src/course/checks.mjs";
import { FOLD, LedgerReader } from "../../verify-js/src/ledger.mjs";
import { ReceiptRebuild } from "../../verify-js/src/rebuild/checks.mjs";
import { checkReceipt } from "../../verify-js/src/receipt_shape.mjs";
import { UsageRowsRebound } from "../../verify-js/src/rows.mjs";
import { sha256Hex } from "../../verify-js/src/sha256.mjs";

const bytes = (text) => new Uint8Array(Buffer.from(text, "base64"));

function readingOf(raw) {
  const course = new Course();
  const checks = [new UsageRowsRebound(course), new ReceiptRebuild(course)];
  const found = { ours: false, payloadFault: null };
  const reader = new LedgerReader((event) => {
    if (event.seq === 0) found.ours = event.type === "session.start" && event.data.fold === FOLD;
    const fault = found.ours ? readPayload(event) : null;
    if (fault === null) course.show(event, found.ours);
    else found.payloadFault ??= fault;
  });
  reader.push(raw);
  const { damage, events, hashes, head, sound, tree } = reader.end();
  return { checks, ledger: { damage, events, fileSha256: sha256Hex(raw), hashes, head, sound, tree, ...found } };
}

// The document with `other` at the path, as a reader gives it; what is beside the path is shared.
function replaced(value, [key, ...rest], other) {
  if (key === undefined) return decodeDocument(Buffer.from(JSON.stringify(other)));
  const changed = Array.isArray(value) ? [...value] : Object.assign(Object.create(Object.getPrototypeOf(value)), value);
  changed[key] = replaced(value[key], rest, other);
  return changed;
}

for await (const line of createInterface({ input: process.stdin })) {
  const given = JSON.parse(line);
  const { checks, ledger } = readingOf(bytes(given.ledger));
  const document = decodeDocument(bytes(given.receipt));
  const ours = document.tool?.fold === FOLD;
  const answer = (receipt) => {
    const answers = checks.map((check) => check.finish({ ledger, ours, receipt: new Receipt(receipt, ours) }));
    return answers.find(({ status }) => status !== "pass") ?? answers.at(-1);
  };
  const hasForm = (receipt) => !given.form || checkReceipt(receipt, ours || ledger.ours) === null;
  const statusOf = (receipt) => (hasForm(receipt) ? answer(receipt).status : "fail");
  const changed = given.changes.map(([path, other]) => statusOf(replaced(document, path, other)));
  process.stdout.write(`${JSON.stringify({ fault: ledger.payloadFault, rebuild: answer(document), changed })}\n`);
}
