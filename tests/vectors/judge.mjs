// Reads documents as lines of [subject, base64] from standard input and prints what the second reader says of each.
import { readFileSync } from "node:fs";
import { Broken, READERS } from "../../spec/vectors/documents.mjs";

for (const line of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const [subject, document] = JSON.parse(line);
  try {
    READERS[subject](Buffer.from(document, "base64"));
    console.log("accepted");
  } catch (error) {
    if (!(error instanceof Broken)) throw error;
    console.log(error.rule);
  }
}
