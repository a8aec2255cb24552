/**
 * Bundles a user's program for browsers, minified, and runs it where there is nothing but the web's own names: a use
 * of Node's would throw. Arguments: the project where the SDK is installed and the vectors of receipts. Prints results.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createContext, runInContext } from "node:vm";
import { rolldown } from "rolldown";

const [project, receipts] = process.argv.slice(2);

const PROGRAM = `
import { Client, LocalKey, VerificationError, verifyReceipt, verifyTrustRoot } from "@event-anchoring/sdk";
const { trust_roots: [root], pinned_root_thk: pinnedRootThk, good: [good], bad: [bad] } = vectors;
const trustRoot = verifyTrustRoot({ documents: [root], pinnedRootThk });
const said = { sequence: verifyReceipt(good.receipt, { trustRoot }).leaf.sequence };
try {
  verifyReceipt(bad.receipt, { trustRoot });
} catch (error) {
  said.refusal = [error.name, error.step === bad.failure.step, error instanceof VerificationError];
}
const key = LocalKey.generate();
said.key = [key.publicKeyHex.length, key.sign(new Uint8Array(3)).length];
const fetchAnswer = (url, { method, headers }) => {
  said.request = [method, new URL(url).pathname, /^[0-9a-f-]{36}$/.test(headers["x-request-id"])];
  const problem = { type: "about:blank", status: 404, code: "not_found" };
  return Promise.resolve(new Response(JSON.stringify(problem), { status: 404 }));
};
globalThis.fetch = fetchAnswer;
const client = new Client({ endpoint: "https://node.example", apiKey: "ea_key" });
client.healthz().catch((error) => { said.failure = error.name; }).finally(() => done(said));
`;

writeFileSync(join(project, "web-program.js"), PROGRAM);
const bundle = await rolldown({
  input: join(project, "web-program.js"),
  cwd: project,
  platform: "browser",
  treeshake: true,
});
const { output } = await bundle.generate({ format: "iife", minify: true });
await bundle.close();

const web =
  "AbortController AbortSignal Headers Response TextDecoder TextEncoder URL clearTimeout crypto performance setTimeout";
const names = Object.fromEntries(web.split(" ").map((name) => [name, globalThis[name]]));
const said = await new Promise((resolve, reject) => {
  const context = createContext({ ...names, vectors: JSON.parse(readFileSync(receipts, "utf8")), done: resolve });
  process.once("unhandledRejection", reject);
  runInContext(output[0].code, context);
});
process.stdout.write(JSON.stringify({ ...said, bytes: output[0].code.length }));
