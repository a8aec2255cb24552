/**
 * Uses the package as a program of its user would, on whatever Node runs it. Arguments: the project where it is
 * installed, `import` or `require`, the vectors of receipts, the vectors of prepared records, an answer of the service.
 * Prints what went wrong.
 */
import { rejects, strictEqual, throws } from "node:assert";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [project, way, receipts, prepared, answer] = process.argv.slice(2);
const json = (path) => JSON.parse(readFileSync(path, "utf8"));
const installed = join(project, "node_modules/@event-anchoring/sdk");
const { import: imported, require: required } = json(join(installed, "package.json")).exports["."];
const sdk =
  way === "require"
    ? createRequire(join(project, "program.js"))("@event-anchoring/sdk")
    : await import(pathToFileURL(join(installed, imported.default)).href);
strictEqual(
  createRequire(join(project, "program.js")).resolve("@event-anchoring/sdk"),
  join(installed, required.default),
);

sdk.checkCanaries();

const shared = json(receipts);
const documents = shared.trust_roots.slice(0, 1);
const trustRoot = sdk.verifyTrustRoot({ documents, pinnedRootThk: shared.pinned_root_thk });
strictEqual(sdk.verifyReceipt(shared.good[0].receipt, { trustRoot }).supersededTrustRoot, null);
const { step } = shared.bad[0].failure;
throws(
  () => sdk.verifyReceipt(shared.bad[0].receipt, { trustRoot }),
  (error) => error.step === step,
);

const { input, ...wanted } = json(prepared).claims.good[0];
const content = {
  originFingerprint: input.origin_fingerprint,
  entityFingerprint: input.entity_fingerprint,
  attributeType: input.attribute_type,
  attributeHash: input.attribute_hash,
  subjectPublicKey: input.subject_public_key,
  issuerPublicKey: input.issuer_public_key,
};
const claim = sdk.prepareClaimAnchor(content);
strictEqual(claim.subjectPayload.hex, wanted.subject_payload);
const first = sdk.LocalKey.fromSeed(wanted.subject_seed).sign(claim.subjectPayload.bytes);
strictEqual(Buffer.from(first).toString("hex"), wanted.subject_signature);

const server = createServer((request, response) => {
  request.resume();
  request.on("end", () => response.writeHead(201).end(readFileSync(answer)));
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const endpoint = `http://127.0.0.1:${server.address().port}`;
const client = new sdk.Client({ endpoint, apiKey: "ea_key", originFingerprint: input.origin_fingerprint });
const { event_hash: eventHash, semantic_anchor: refs } = json(answer).anchor;
const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
const semanticAnchor = Object.fromEntries(Object.entries(refs).map(([name, ref]) => [camel(name), ref]));
const created = await client.createEventAnchor(eventHash, { semanticAnchor });
strictEqual(created.anchor.anchorId, json(answer).anchor.anchor_id);
server.close();
server.closeAllConnections();
const apart = json(join(installed, "package.json")).exports["./recorder"];
const recording =
  way === "require"
    ? createRequire(join(project, "program.js"))("@event-anchoring/sdk/recorder")
    : await import(pathToFileURL(join(installed, apart.import.default)).href);
// The recorder knows the errors of the main entry again: this one refuses the event for good.
const refused = new sdk.Unprocessable("reference_not_found", "no such claim", { status: 422 });
const refusing = {
  createEventAnchors: async () => {
    throw refused;
  },
};
const directory = mkdtempSync(join(tmpdir(), "sdk-smoke-"));
const recorder = await recording.Recorder.open({ client: refusing, directory, batchMs: 0, onError: () => undefined });
await rejects(recorder.record({ order: "4711" }, { what: "refund" }).anchored, (error) => {
  return (
    error instanceof recording.EventRefused && error instanceof sdk.AnchoringError && error.name === "EventRefused"
  );
});
strictEqual((await recorder.close()).left, 0);
rmSync(directory, { recursive: true });
process.stdout.write(`works by ${way} on Node ${process.versions.node}\n`);
