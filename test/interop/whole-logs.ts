/** The logs of a running cluster, read whole by the libraries behind Tessera's fsck. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { bytesToHex, formatVkey } from "@event-anchoring/protocol";
import { until } from "@event-anchoring/testkit";
import { trustRootsOf } from "@event-anchoring/testkit/cluster";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { buildGo, whatGoLacks } from "./go-program.ts";

const MODULE = "fsck";
const TIMEOUT_MS = 240_000;

const lacking = whatGoLacks(MODULE);
const describeWithGo = lacking === null ? describe : describe.skip;
if (lacking !== null) process.stderr.write(`logs are not read by Tessera's fsck: ${lacking}\n`);

/** What is served instead of these bytes; null: nothing is there. */
type Alter = (bytes: Buffer) => Buffer | null;

/** Passes everything on from a node, and alters what lies at one path. */
async function startAltering(apiUrl: string, path: RegExp, alter: Alter): Promise<{ url: string; server: Server }> {
  const server = createServer((request, response) => {
    void fetch(`${apiUrl}${request.url ?? ""}`, { headers: { authorization: request.headers.authorization ?? "" } })
      .then(async (answer) => {
        const bytes = Buffer.from(await answer.arrayBuffer());
        const given = answer.ok && path.test(request.url ?? "") ? alter(bytes) : bytes;
        response.writeHead(given === null ? 404 : answer.status).end(given ?? "");
      })
      .catch((error: unknown) => response.writeHead(502).end(String(error)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

function flipped(at: number): Alter {
  return (bytes) => {
    const place = at < 0 ? bytes.length + at : at;
    bytes.writeUInt8(bytes.readUInt8(place) ^ 1, place);
    return bytes;
  };
}

/** A checkpoint whose third line begins with another letter. */
function replacedRoot(bytes: Buffer): Buffer {
  const lines = bytes.toString("utf8").split("\n");
  const [, , root = ""] = lines;
  lines[2] = (root.startsWith("A") ? "B" : "A") + root.slice(1);
  return Buffer.from(lines.join("\n"));
}

/** What is served, and what fsck says of it. */
const SPOILED: readonly [what: string, path: RegExp, alter: Alter, said: RegExp][] = [
  ["a bit of a leaf", /\/tile\/entries\/000$/u, flipped(40), /root|hash|tile/iu],
  ["the last bit of the first leaves", /\/tile\/entries\/000$/u, flipped(-1), /root|hash|tile/iu],
  ["a bit of a tile", /\/tile\/0\/000$/u, flipped(0), /tile|resource|mismatch|differ/iu],
  ["a bit of the tile above", /\/tile\/1\/000\.p\/\d+$/u, flipped(31), /tile|resource|mismatch|differ/iu],
  ["its first leaves missing", /\/tile\/entries\/000$/u, () => null, /not exist/iu],
  ["a tile missing", /\/tile\/0\/000$/u, () => null, /not exist/iu],
  ["a bit of its root", /\/checkpoint$/u, replacedRoot, /checkpoint/iu],
];

/** The program, and the keys of a cluster's logs. */
class LogReader {
  readonly #folder = mkdtempSync(join(tmpdir(), "anchoring-fsck-"));
  readonly #program = join(this.#folder, MODULE);
  readonly #vkeys: ReadonlyMap<string, string>;
  readonly #accessKey: string;

  constructor({ cluster, apiKey }: TestCluster) {
    const { origins } = trustRootsOf(cluster.file.trust_root).newest.trustRoot;
    this.#vkeys = new Map(origins.map((each) => [bytesToHex(each.originFingerprint), formatVkey(each.logVkey)]));
    this.#accessKey = apiKey;
    buildGo(MODULE, this.#program);
  }

  close(): void {
    rmSync(this.#folder, { recursive: true });
  }

  /** What it says against a log; empty: it finds nothing. A node that is too busy to serve it all is asked again. */
  async findings(apiUrl: string, origin: string, keyOf = origin): Promise<string> {
    const { said } = await until("a node serves its whole log", async () => {
      const answer = await this.#fsck(`${apiUrl}/v1/origins/${origin}/`, this.#vkeys.get(keyOf) ?? "");
      return answer.includes(": 503") ? null : { said: answer };
    });
    return said;
  }

  #fsck(address: string, vkey: string): Promise<string> {
    const env = { ...process.env, LOG_KEY: this.#accessKey };
    return new Promise((resolve, reject) => {
      execFile(this.#program, [address, vkey], { env }, (error, _stdout, stderr) => {
        if (error === null || error.code === 1) resolve(stderr);
        else reject(new Error("fsck was not run", { cause: error }));
      });
    });
  }
}

/** @param cluster with more than a tile of leaves in every origin */
export function describeWholeLogs(cluster: () => TestCluster): void {
  describeWithGo("the log of every origin, as it is served", () => {
    let reader: LogReader;

    beforeAll(() => {
      reader = new LogReader(cluster());
    }, TIMEOUT_MS);

    afterAll(() => {
      reader.close();
    });

    test(
      "is whole at every node: each leaf, each tile, and the root",
      async () => {
        const { nodes } = cluster().cluster.file;
        for (const { api_url: apiUrl } of nodes)
          for (const { origin_fingerprint: origin } of nodes) expect(await reader.findings(apiUrl, origin)).toBe("");
      },
      TIMEOUT_MS,
    );

    test.each(SPOILED)(
      "is refused with %s",
      async (_what, path, alter, said) => {
        const [node] = cluster().cluster.file.nodes;
        const { url, server } = await startAltering(node?.api_url ?? "", path, alter);
        try {
          expect(await reader.findings(url, node?.origin_fingerprint ?? "")).toMatch(said);
        } finally {
          server.close();
          server.closeAllConnections();
        }
      },
      TIMEOUT_MS,
    );

    test("is refused under the key of another origin", async () => {
      const [first, second] = cluster().cluster.file.nodes;
      const { api_url: apiUrl = "", origin_fingerprint: origin = "" } = first ?? {};
      expect(await reader.findings(apiUrl, origin, second?.origin_fingerprint)).toMatch(/checkpoint/iu);
    });
  });
}
