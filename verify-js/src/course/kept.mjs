// retained-responses: what a ledger says of the bodies that were kept, and what stands beside it (spec/course.md, Kept
// responses).

import { DAMAGED, NO_LEDGER, fail, pass, skip } from "../case.mjs";
import { isInteger } from "../canonical.mjs";
import { measured } from "../chunks.mjs";
import { countOf } from "../wording.mjs";
import { objectAt, shown } from "./values.mjs";

const SAID = ["response_path", "response_stored_bytes", "response_stored_sha256", "response_truncated"];

export class RetainedResponses {
  constructor() {
    this.fault = null;
    this.kept = [];
    this.sessionId = "";
    this.keeps = false;
  }

  observe(event) {
    if (!event.known) return;
    const { seq, type, data } = event;
    if (type === "session.start") this.sessionId = data.session_id;
    else if (type === "policy.applied") this.keeps = objectAt(data.document, "evidence").record_responses === true;
    else if (type === "model.response") {
      const fault = this.#wrong(data);
      if (fault !== null) this.fault ??= `event ${seq} (${type}): ${fault}`;
      this.observePublic(event);
    }
  }

  observePublic({ seq, type, data }) {
    if (type === "model.response" && data.response_retained === true) this.kept.push({ seq, data });
  }

  async finish({ bodies, ledger }) {
    if (ledger === null) return skip(NO_LEDGER);
    if (!ledger.sound) return skip(DAMAGED);
    const fault = this.fault ?? this.#said();
    if (fault !== null) return fail(fault);
    const named = new Set(this.kept.map(({ data }) => data.response_path));
    const other = bodies === null || bodies === undefined ? undefined : [...bodies.keys()].find((path) => !named.has(path));
    if (this.kept.length === 0 && other === undefined) return skip("no responses were kept in this run");
    if (bodies === null || bodies === undefined) return skip("the responses that were kept are not beside the ledger");
    const wrong = await this.#compared(bodies);
    if (wrong !== null) return fail(wrong);
    if (other !== undefined) return fail(`${shown(other)} is named by no event of the ledger`);
    return pass(`${countOf(this.kept.length, "response")} hashed, as kept`);
  }

  // What docket's own ledger says must fit together.
  #wrong(data) {
    const there = SAID.filter((name) => data[name] !== undefined).length;
    if (data.response_retained === true) {
      if (!this.keeps) return "a body is kept, the policy keeps none";
      if (there < SAID.length || data.response_note !== undefined) return "of its body not all is said";
      return this.#ofKept(data);
    }
    const isTold = data.response_note !== undefined;
    if (there === 0 && isTold === (data.response_retained === false)) return null;
    return "of a body that is not kept the reason is said, and nothing else";
  }

  #ofKept(data) {
    const { response_stored_bytes: size, response_bytes: whole, response_truncated: isCut } = data;
    const digest = data.response_stored_sha256;
    if (data.response_path !== `responses/${this.sessionId}/${digest}.bin`) return "response_path is not that of its digest";
    if (size > whole || isCut !== size < whole) return `response_truncated does not fit ${size} bytes of ${whole}`;
    return isCut || digest === data.response_sha256 ? null : "it is kept whole and has another digest than the response";
  }

  // What any writer says of a kept body suffices to check it.
  #said() {
    for (const { seq, data } of this.kept) {
      const { response_path: path, response_stored_sha256: digest } = data;
      if (typeof path !== "string" || path === "") return `event ${seq}: it says that a response was kept and names no path`;
      if (typeof digest !== "string") return `event ${seq}: ${shown(path)} was kept and has no digest`;
      if (data.response_truncated !== true && digest !== data.response_sha256) {
        return `event ${seq}: ${shown(path)} was kept whole and has another digest than the response`;
      }
    }
    return null;
  }

  async #compared(bodies) {
    const found = new Map();
    for (const { seq, data } of this.kept) {
      const path = data.response_path;
      const body = bodies.get(path) ?? null;
      if (body === null) return `event ${seq}: ${shown(path)} is not there`;
      const size = data.response_stored_bytes ?? null;
      if (!found.has(path)) found.set(path, await measured(body, isInteger(size) ? size : Infinity));
      const { digest, size: held } = found.get(path) ?? {};
      if (digest !== data.response_stored_sha256 || (size !== null && size !== held)) {
        return `event ${seq}: ${shown(path)} is not the body that was kept`;
      }
    }
    return null;
  }
}
