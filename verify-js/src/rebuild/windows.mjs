// The fold over tool windows: the receipt member `windows` (spec/receipt.md, Tool windows; spec/windows.md, Cost).

import { microsOf, spelledUsd } from "../money.mjs";
import { orNull, without } from "./course.mjs";
import { SENTENCES } from "./lists.mjs";
import { Tally, sumOf } from "./tally.mjs";

const KEY = ["repository", "provider", "session_id", "turn_id", "mode"];

export class WindowsFold {
  constructor() {
    this.windows = new Map();
    this.lost = new Tally();
    this.asked = new Map();
  }

  // Which reply asked for a tool use, and the share of its cost: the first replies and the first ids count.
  response({ seq, data }) {
    const ids = data.tool_use_ids ?? [];
    if (ids.length === 0) return;
    const [cost, count] = [microsOf(data.cost_usd), BigInt(ids.length)];
    for (const [place, id] of ids.entries()) {
      if (this.asked.has(id)) continue;
      const share = cost / count + (BigInt(place) < cost % count ? 1n : 0n);
      this.asked.set(id, { call: data.call, seq, tools: ids.length, share_usd: spelledUsd(share), derived: true });
    }
  }

  call({ seq, data }) {
    if (data.window === undefined) return;
    this.named(data.window.window_id, data).begun = { seq, window: data.window };
  }

  result({ seq, data }) {
    if (data.window_id === undefined) return;
    this.named(data.window_id, data).after = { seq, ok: data.ok };
  }

  delta({ seq, hash, data }) {
    this.named(data.window_id, data).delta = { seq, hash, data };
  }

  hookLost(data) {
    this.lost.add(data.kind, data.count);
  }

  named(id, data) {
    if (!this.windows.has(id)) {
      this.windows.set(id, { id: orNull(data.id), name: data.name, begun: null, after: null, delta: null });
    }
    return this.windows.get(id);
  }

  // `pathOf` gives the path of an event by its number. Null where there is nothing to tell.
  member(pathOf) {
    if (this.windows.size === 0 && this.lost.names().length === 0) return null;
    const deltas = [...this.windows.values()].filter(({ delta }) => delta !== null).map(({ delta }) => delta.data);
    const complete = deltas.filter((delta) => delta.status === "complete");
    const groups = deltas.filter((delta) => delta.scope === "concurrent_group").map((delta) => delta.group_id);
    const reasons = new Tally();
    for (const { reason } of deltas) if (reason !== undefined) reasons.add(reason);
    return {
      count: this.windows.size,
      complete: complete.length,
      partial: deltas.length - complete.length,
      open: this.windows.size - deltas.length,
      groups: new Set(groups).size,
      files: sumOf([...new Map(complete.map((delta) => [delta.delta_sha256, delta.files])).values()]),
      partial_by_reason: reasons.toJson(),
      hooks_lost: this.lost.toJson(),
      tools: [...this.windows].map(([windowId, window]) => this.entry(windowId, window, pathOf)),
      note: SENTENCES.windows,
    };
  }

  entry(windowId, { id, name, begun, after, delta }, pathOf) {
    const key = begun === null ? {} : Object.fromEntries(KEY.map((member) => [member, begun.window[member]]));
    return {
      window_id: windowId,
      id,
      name,
      ...key,
      asked_by: id === null ? null : orNull(this.asked.get(id)),
      before: begun === null ? null : { seq: begun.seq, ...without(begun.window, "window_id", ...KEY) },
      after,
      delta: delta === null ? null : proven(delta, pathOf),
    };
  }
}

function proven({ seq, hash, data }, pathOf) {
  return { seq, ...without(data, "window_id", "id", "name"), event_hash: hash, merkle_path: pathOf(seq) };
}
