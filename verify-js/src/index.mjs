// What the module offers.

export { decodeReceipt } from "./receipt_reader.mjs";
export { verify } from "./verify.mjs";
export { fingerprint } from "./ed25519.mjs";
export { readPublicKey, readSealKey, readTrust } from "./key_texts.mjs";
export { readHeadWords } from "./notes.mjs";
export { readState } from "./rollback.mjs";
export { Refused } from "./refused.mjs";
export { sha256Hex } from "./sha256.mjs";
