// `docket/fold/v1`: everything a receipt derives, from the events of a ledger of docket's own (spec/receipt.md).
//
// Events are taken one by one; what is kept grows with the usage rows alone. An event of an unknown type is counted.

import { Families } from "../families.mjs";
import { LedgerRows, isOnItsPath } from "../rows.mjs";
import { CallsFold } from "./calls.mjs";
import { AssertedFold, CourseFold, orNull } from "./course.mjs";
import { applying, disclosureOf, factsOf } from "./disclosure.mjs";
import { SENTENCES } from "./lists.mjs";
import { OperationsFold } from "./operations.mjs";
import { priceTable } from "./prices.mjs";
import { CacheFold, ResponsesFold } from "./replays.mjs";
import { Tally } from "./tally.mjs";
import { TreeFold } from "./tree.mjs";
import { WindowsFold } from "./windows.mjs";
import { WorkspaceFold } from "./workspace.mjs";

const FORMAT = "docket/receipt/v1";
const USAGE = "receipt.appendix.usage";
// What a receipt's proof has even where session.start says nothing of it.
const NO_PROOF = { previous: null, signature: null, seal: null };

export class LedgerFold {
  constructor(course) {
    this.rows = course.follow("rows", LedgerRows).rows;
    this.counts = new Tally();
    this.lastAt = "";
    this.families = [];
    this.calls = new CallsFold(this.rows);
    this.course = new CourseFold();
    this.asserted = new AssertedFold();
    this.tree = new TreeFold();
    this.operations = new OperationsFold();
    this.cache = new CacheFold();
    this.responses = new ResponsesFold();
    this.windows = new WindowsFold();
    this.workspace = new WorkspaceFold();
  }

  observe(event) {
    this.counts.add(event.type);
    this.lastAt = event.ts;
    if (Object.hasOwn(TAKERS, event.type)) TAKERS[event.type](this, event);
  }

  // The receipt without its usage rows, seal and signature; null where the ledger has no session.start.
  receipt({ events, head, genesis, tree, fileSha256 }) {
    const { course } = this;
    if (course.start === null) return null;
    const pathOf = (seq) => tree.path(seq);
    const table = priceTable(this.families, course.start.prices);
    const families = new Families(table.document.families);
    const receipt = { ...this.derived(families), ...this.whereThere(pathOf), price_table: table };
    receipt.ledger = {
      format: "docket/ledger/v1",
      events,
      head,
      genesis,
      merkle_root: tree.root(),
      file_sha256: fileSha256,
      chain: SENTENCES.chain,
    };
    receipt.appendix = { proof_included: true, note: SENTENCES.appendix };
    return receipt;
  }

  // The first row of the receipt whose path is not the tree's, in words, or null; all else of the rows is compared one by
  // one as usage-rows-rebound.
  differenceOfPaths(stated, { events, tree }) {
    const at = stated.findIndex((row) => row.seq < events && !isOnItsPath(tree, row));
    return at < 0 ? null : `${USAGE}[${at}].merkle_path is not the path of event ${stated[at].seq}`;
  }

  derived(families) {
    const { calls, course } = this;
    const { start } = course;
    return {
      format: FORMAT,
      docket_number: start.docket_number,
      label: orNull(start.label),
      created_at: this.lastAt,
      tool: { name: start.tool, version: start.version, format: FORMAT, fold: start.fold },
      session: course.session(),
      policy: course.policyMember(),
      boundary: course.boundary(),
      totals: calls.totals((model) => families.isAssumed(model)),
      model_calls: calls.modelCalls(),
      budget: course.budget,
      tools: this.asserted.toolsMember(),
      files: this.tree.files(),
      network: course.network(),
      caps: { exceeded: this.counts.of("cap.exceeded"), warnings: this.counts.of("cap.warning") },
      notes: course.notes.toJson(),
      event_counts: this.counts.toJson(),
      evidence: course.evidence(),
      ops: {
        ...this.operations.member(course.policyDocument, calls.requests),
        snapshot: this.tree.snapshotMember(),
        rollback: this.tree.rollbackMember(),
      },
      isolation: course.isolation(),
      findings: [],
      limits_disclosure: disclosureOf(applying(this.facts())),
    };
  }

  // The members that are absent where there is nothing to tell.
  whereThere(pathOf) {
    const { course } = this;
    const policy = course.policyDocument;
    const members = {
      latency: this.calls.latency(),
      pools: course.poolsMember(),
      asserted: this.asserted.member(),
      cache: this.cache.member(policy, course.ceilingReached, pathOf),
      responses: this.responses.member(policy),
      workspace: this.workspace.member(),
      windows: this.windows.member(pathOf),
      proof: course.start.proof === undefined ? null : { ...NO_PROOF, ...course.start.proof },
      redaction: orNull(course.start.redaction),
    };
    for (const name of Object.keys(members)) if (members[name] === null) delete members[name];
    return members;
  }

  facts() {
    const { calls, course, tree } = this;
    return {
      ...factsOf(course.policyDocument, course.start),
      both_passes: tree.bothPasses,
      omissions: tree.omissions > 0,
      gap: course.gaps.length > 0,
      ended: course.end !== null,
      subreaper: course.spawn !== null && course.spawn.isolation.includes("subreaper"),
      calls: calls.responses > 0,
      estimates: calls.estimated > 0,
      assumed_prices: calls.assumed.size > 0,
      asserted: this.asserted.byAgent,
    };
  }
}

const put = (name) => ({ course }, { data }) => {
  course[name] = data;
};
const staged = (name) => ({ workspace }, { data }) => {
  workspace[name] = data;
};

const TAKERS = {
  "session.start": ({ course }, event) => course.begin(event),
  "policy.applied": put("policy"),
  "proc.spawn": put("spawn"),
  "proc.exit": put("exit"),
  "session.end": put("end"),
  "x-docket.budget": put("budget"),
  "x-docket.pool": ({ course }, { data }) => course.pools.set(data.pool, data),
  "x-docket.pool-use": ({ course }, { data }) => course.poolUses.set(data.pool, data),
  "x-docket.evidence-gap": ({ course }, { data }) => course.gaps.push(data),
  "net.allowed": ({ course }) => (course.allowed += 1),
  "net.denied": ({ course }, { data }) => course.denied.add(data.kind, data.count),
  note: ({ asserted, course }, { data }) => (data.reported_by === undefined ? course : asserted).note(data),
  "x-docket.asserted-call": ({ asserted }, { data }) => asserted.call(data),
  "tool.call": ({ asserted, windows }, event) => {
    asserted.toolCall(event.data);
    windows.call(event);
  },
  "tool.result": ({ asserted, windows }, event) => {
    asserted.toolResult(event.data);
    windows.result(event);
  },
  "x-docket.tool-delta": ({ windows }, event) => windows.delta(event),
  "x-docket.hook-lost": ({ windows }, { data }) => windows.hookLost(data),
  "model.request": ({ calls }, { data }) => calls.request(data),
  "model.response": ({ calls, operations, responses, windows }, event) => {
    calls.response(event.data);
    operations.response(event.data);
    responses.response(event.data);
    windows.response(event);
  },
  "model.error": ({ calls, operations }, { data }) => {
    calls.error(data);
    operations.error(data);
  },
  "model.denied": ({ calls, operations }, { data }) => {
    calls.denied(data);
    if (data.reason === "rate_limited") operations.rateLimited += 1;
  },
  "model.cache_hit": ({ cache }, event) => cache.hit(event),
  "x-docket.cache-hit": ({ cache }, event) => cache.hit(event),
  "x-docket.other": ({ calls }) => calls.other(),
  "x-docket.price": ({ families }, { data }) => families.push(data),
  "x-docket.paced": ({ operations }, { data }) => operations.waitsMs.push(data.waited_ms),
  "x-docket.breaker": ({ operations }, { data }) => operations.breaker(data),
  "x-docket.fault-plan": ({ operations }, { data }) => (operations.plan = data),
  "x-docket.fault": ({ operations }, { data }) => operations.fault(data),
  "fs.change": ({ tree }, { data }) => tree.change(data),
  "fs.snapshot": ({ tree }, { data }) => tree.pass(data),
  "policy.violation": ({ tree }, { data }) => tree.violation(data),
  "x-docket.omissions": ({ tree }, { data }) => tree.omitted(data),
  "x-docket.snapshot-refused": ({ tree }, { data }) => (tree.refused = data),
  "x-docket.rollback-applied": ({ tree }, { data }) => (tree.rollback = { applied: true, data }),
  "x-docket.rollback-refused": ({ tree }, { data }) => (tree.rollback = { applied: false, data }),
  "x-docket.workspace-opened": staged("opened"),
  "x-docket.workspace-refused": staged("refused"),
  "x-docket.workspace-intent": staged("intent"),
  "x-docket.workspace-settled": staged("settled"),
};
