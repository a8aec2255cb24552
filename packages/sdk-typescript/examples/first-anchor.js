// node examples/first-anchor.js <file>, with ANCHORING_ENDPOINT, ANCHORING_API_KEY and ANCHORING_ROOT_THK.
import { readFile } from "node:fs/promises";
import { Client, sha256, verifyReceipt, verifyTrustRoot } from "@event-anchoring/sdk";

const { ANCHORING_ENDPOINT: endpoint, ANCHORING_API_KEY: apiKey, ANCHORING_ROOT_THK: pinnedRootThk } = process.env;
const client = new Client({ endpoint, apiKey });
const eventHash = sha256(await readFile(process.argv[2]));
const { receipt } = await client.createEventAnchor(eventHash);
const trustRoot = verifyTrustRoot({ documents: (await client.trustRoot()).chain, pinnedRootThk });
const { anchorId, cosigners } = verifyReceipt(receipt, { trustRoot, eventHash });
process.stdout.write(`${anchorId} is cosigned by ${cosigners.join(", ")}\n`);
