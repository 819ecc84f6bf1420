import { skip } from "./case.mjs";
export class Seal { finish() { return skip("this verifier does not check it yet"); } }
export class Signature { finish() { return skip("this verifier does not check it yet"); } }
