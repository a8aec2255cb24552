/**
 * Follows the heads of every origin with the SDK, and prints a line of JSON for each head and for each feed that broke.
 * Arguments: the file of the trust root, its pin, the file of the API key, and the addresses of the nodes.
 */
import { readFileSync } from "node:fs";
import { bytesToHex } from "@event-anchoring/protocol";
import { Client, verifyTrustRoot } from "@event-anchoring/sdk";

const [trustRootFile = "", pin = "", keyFile = "", ...endpoints] = process.argv.slice(2);
const trustRoot = verifyTrustRoot({ documents: [readFileSync(trustRootFile, "utf8")], pinnedRootThk: pin });
const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

await Promise.all(
  trustRoot.newest.trustRoot.origins.map(async ({ originFingerprint: bytes }, first) => {
    const originFingerprint = bytesToHex(bytes);
    const client = new Client({
      // Each begins at another node.
      endpoints: [...endpoints.slice(first), ...endpoints.slice(0, first)],
      apiKey: readFileSync(keyFile, "utf8").trim(),
      allowPlainHttp: true,
      trustRoot,
      onRetry: ({ error }) => say({ originFingerprint, broken: error.message }),
    });
    for await (const { treeSize, previousTreeSize, rootHash } of client.followHeads({ originFingerprint })) {
      say({ originFingerprint, treeSize, previousTreeSize, rootHash });
    }
  }),
);
