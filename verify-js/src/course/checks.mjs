// The checks of the course of a ledger's events, by the names that the registry has for them.

import { watched } from "../case.mjs";

export { CapLimits } from "./caps.mjs";
export { CacheHitOrigins, CacheHitProofs, CacheSavings } from "./cache.mjs";
export { Components } from "./components.mjs";
export { EventOrder } from "./order.mjs";
export { RetainedResponses } from "./kept.mjs";
export { SessionShape } from "./session.mjs";
export { ToolDeltas, ToolWindows } from "./windows.mjs";
export { readPayload } from "./grammar.mjs";

export class LedgerPayloads {
  finish(given) {
    return watched(given, given.ledger?.payloadFault ?? null, "every known payload has its form");
  }
}
