import { skip } from "./case.mjs";
export class Totals { finish() { return skip("this verifier does not check it yet"); } }
export class TokenTotals { finish() { return skip("this verifier does not check it yet"); } }
export class CachedTotals { finish() { return skip("this verifier does not check it yet"); } }
export class AssumedPrices { finish() { return skip("this verifier does not check it yet"); } }
export class ByModelTotals { finish() { return skip("this verifier does not check it yet"); } }
export class UsageSourceCounts { finish() { return skip("this verifier does not check it yet"); } }
export class CostBasis { finish() { return skip("this verifier does not check it yet"); } }
export class LatencySummary { finish() { return skip("this verifier does not check it yet"); } }
