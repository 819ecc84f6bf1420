// Which limits a run's receipt discloses (spec/disclosure.json): each code of the list all of whose facts hold.

import { objectAt } from "./course.mjs";
import { DISCLOSURE } from "./lists.mjs";

// The member that has exactly these codes.
export function disclosureOf(codes) {
  const member = Object.fromEntries(DISCLOSURE.groups.map((group) => [group, []]));
  member.codes = [];
  for (const { code, group, sentence } of DISCLOSURE.limits) {
    if (!codes.has(code)) continue;
    member[group].push(sentence);
    member.codes.push(code);
  }
  return member;
}

export const KNOWN_CODES = new Set(DISCLOSURE.limits.map(({ code }) => code));

export function applying(facts) {
  const holds = (fact) => (fact.startsWith("!") ? !facts[fact.slice(1)] : facts[fact]);
  return new Set(DISCLOSURE.limits.filter(({ when }) => when.every(holds)).map(({ code }) => code));
}

// The facts of the policy and of session.start; what the other events show is added by the fold.
export function factsOf(policy, start) {
  const [budget, caps] = [objectAt(policy, "budget"), objectAt(policy, "caps")];
  const models = objectAt(policy, "models");
  const tunnels = start.boundary.http_proxy === true || objectAt(policy, "egress").mode === "tunnel";
  const unknown = budget.unknown_endpoints;
  return {
    quota: budget.mode === "quota",
    usd_cap: isSet(caps.max_usd),
    strict: start.admission === "strict",
    ceiling: start.admission === "ceiling",
    sub_budgets: isFilled(caps.per_model) || isFilled(caps.per_agent),
    pools: isFilled(budget.pools),
    token_cap: isSet(caps.max_tokens),
    call_cap: isSet(caps.max_model_calls),
    wall_clock_cap: isSet(caps.max_wall_seconds),
    model_rules: isFilled(models.allow) || isFilled(models.deny),
    tunnels,
    passed_endpoints: isFilled(budget.pass_endpoints) || (unknown !== undefined && unknown !== "refuse"),
    deny_write: isFilled(objectAt(policy, "files").deny_write),
    upstream_overrides: isFilled(start.upstream_overrides),
    signed: isSet(start.proof?.signature),
    sealed: isSet(start.proof?.seal),
    redacted: isSet(start.redaction),
  };
}

const isSet = (value) => value !== undefined && value !== null;

// There, and not null, false, 0 or empty.
function isFilled(value) {
  if (typeof value !== "object" || value === null) return Boolean(value);
  return Object.keys(value).length > 0;
}
