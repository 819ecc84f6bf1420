// Checks of the receipt's sums against its own rows.

import { fail, pass, skip } from "./case.mjs";
import { compareTexts, isInteger, isText } from "./canonical.mjs";
import { latencySummary } from "./latency.mjs";
import { microsOf, spelledUsd } from "./money.mjs";
import { familiesOf } from "./families.mjs";
import { shown } from "./refused.mjs";
import { countOf } from "./wording.mjs";

const sum = (rows, member) => rows.reduce((total, row) => total + row[member], 0);
const cost = (rows) => spelledUsd(rows.reduce((total, row) => total + microsOf(row.cost_usd), 0n));

function compare(receipt, wanted) {
  for (const [member, value] of Object.entries(wanted)) {
    const stated = receipt.part("totals", member);
    if (stated !== value) return fail(`totals.${member} is ${shown(stated)}, the rows give ${shown(value)}`);
  }
  return pass(Object.entries(wanted).map(([member, value]) => `${member} ${shown(value)}`).join(", "));
}

export class Totals {
  finish({ receipt }) {
    return compare(receipt, { calls: receipt.rows.length, cost_usd: cost(receipt.rows) });
  }
}

export class TokenTotals {
  finish({ receipt }) {
    const input = sum(receipt.rows, "input_tokens");
    const output = sum(receipt.rows, "output_tokens");
    return compare(receipt, { input_tokens: input, output_tokens: output, total_tokens: input + output });
  }
}

export class CachedTotals {
  finish({ receipt }) {
    return compare(receipt, { cached_input_tokens: sum(receipt.rows, "cached_input_tokens") });
  }
}

export class AssumedPrices {
  finish({ receipt, ours }) {
    const families = familiesOf(receipt);
    if (isText(families)) return fail(families);
    const models = new Set(receipt.rows.map((row) => row.model));
    const fallback = [...models].filter((model) => families.isAssumed(model)).sort(compareTexts);
    if (families.isSpent) return fail("the table has more patterns than can be compared with the models of the rows");
    const stated = receipt.part("totals", "assumed_price_models");
    const named = new Set(stated);
    const allowed = ours ? models : new Set(fallback);
    const isWhole = named.size === stated.length && fallback.every((model) => named.has(model));
    if (!isWhole || !stated.every((model) => allowed.has(model))) {
      return fail(`totals.assumed_price_models is ${shown(stated)}, the table's fallback prices ${shown(fallback)}`);
    }
    return pass(`${countOf(stated.length, "model")} with an assumed price`);
  }
}

const SUMS = ["input_tokens", "cached_input_tokens", "output_tokens"];

export class ByModelTotals {
  finish({ receipt }) {
    const left = new Map();
    for (const row of receipt.rows) {
      if (!left.has(row.model)) left.set(row.model, []);
      left.get(row.model).push(row);
    }
    for (const [index, entry] of receipt.part("totals", "by_model").entries()) {
      const rows = left.get(entry.model);
      if (rows === undefined) return fail(`totals.by_model[${index}]: no row is left for ${shown(entry.model)}`);
      left.delete(entry.model);
      const isSum = SUMS.every((member) => entry[member] === sum(rows, member));
      if (!isSum || entry.calls !== rows.length || entry.cost_usd !== cost(rows)) {
        return fail(`totals.by_model[${index}] of ${shown(entry.model)} differs from the sum of its rows`);
      }
    }
    if (left.size > 0) return fail(`totals.by_model has no entry for ${shown([...left.keys()].sort(compareTexts)[0])}`);
    return pass("every model's sum equals its rows");
  }
}

function sources(rows) {
  const estimated = rows.filter((row) => row.usage_source === "estimated").length;
  const asserted = rows.filter((row) => row.asserted_by !== undefined && row.asserted_by !== null).length;
  return { reported: rows.length - estimated, estimated, asserted };
}

export class UsageSourceCounts {
  finish({ receipt }) {
    const { reported, estimated, asserted } = sources(receipt.rows);
    return compare(receipt, { usage_reported_calls: reported, usage_estimated_calls: estimated, asserted_calls: asserted });
  }
}

export class CostBasis {
  finish({ receipt }) {
    const { reported, estimated, asserted } = sources(receipt.rows);
    const word = estimated === 0 ? "reported" : reported > 0 ? "mixed" : "estimated";
    const stated = receipt.part("totals", "cost_basis");
    if (stated.split(":", 1)[0] !== word) return fail(`totals.cost_basis is ${shown(stated)}, the rows are ${word}`);
    if (stated.includes("asserted") !== asserted > 0) {
      return fail(`totals.cost_basis is ${shown(stated)}, ${asserted} rows were asserted by the agent`);
    }
    return pass(`the rows are ${word}`);
  }
}

export class LatencySummary {
  finish({ receipt }) {
    const stated = receipt.part("latency") ?? null;
    const measured = receipt.rows.map((row) => row.latency_ms).filter(isInteger);
    const found = latencySummary(measured, receipt.rows.length);
    if (stated === null && found === null) return skip("no latency was measured");
    const held = stated !== null && found !== null && Object.keys(found).every((member) => found[member] === stated[member]);
    if (!held) return fail(`latency is ${shown(stated)}, the rows give ${shown(found)}`);
    return pass(`${countOf(measured.length, "row")} measured`);
  }
}
