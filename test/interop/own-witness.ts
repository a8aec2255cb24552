/** A node as a witness, as programs of others meet it: the api process over the witness of the control plane. */
import { createServer } from "node:http";
import type { Server } from "node:http";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ApiMetrics, Proxies, PublicLog, serveWitness } from "@event-anchoring/api";
import { parseWitnessedLogs } from "@event-anchoring/control-contract";
import { Witness, WitnessFile } from "@event-anchoring/control-plane";
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import { formatVkey } from "@event-anchoring/protocol";
import type { Vkey } from "@event-anchoring/protocol";
import { prepareWitness, readSeed } from "@event-anchoring/provision";
import { systemClock } from "@event-anchoring/telemetry";

const RATES = { addressRequestsPerSecond: 1000, requestsPerSecond: 1000 };

/** A line of its log. */
interface Said {
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export class OwnWitness {
  readonly vkey: Vkey;
  /** The errors that it has logged. */
  readonly said: Said[] = [];
  readonly #home: string;
  readonly #logs: ReturnType<typeof parseWitnessedLogs>;
  #file: WitnessFile | null = null;
  #server: Server | null = null;
  #port = 0;

  private constructor(home: string, vkey: Vkey, logVkeys: readonly string[]) {
    this.#home = home;
    this.vkey = vkey;
    const entries = logVkeys.map((logVkey) => `vkey ${logVkey}\nqpd 8640000\n`);
    this.#logs = parseWitnessedLogs(`logs/v0\n${entries.join("")}`, nodeCrypto.sha256);
  }

  static async create(name: string, ...logVkeys: readonly string[]): Promise<OwnWitness> {
    const home = mkdtempSync(join(tmpdir(), "anchoring-witness-"));
    const vkey = await prepareWitness({ identityDir: home, name, promiseFile: join(home, "promises") });
    return new OwnWitness(home, vkey, logVkeys);
  }

  get vkeyText(): string {
    return formatVkey(this.vkey);
  }

  /** The submission prefix; the same after each start. */
  get prefix(): string {
    return `http://127.0.0.1:${this.#port}/witness`;
  }

  async start(): Promise<void> {
    const error = (event: string, fields: Said["fields"] = {}): void => void this.said.push({ event, fields });
    const logger = { debug: () => {}, info: () => {}, warn: () => {}, error };
    const file = await WitnessFile.open(join(this.#home, "promises"), nodeCrypto);
    const signer = createSigner(await readSeed(join(this.#home, "witness.key")));
    const witness = new Witness({
      logs: this.#logs,
      store: file,
      signer,
      crypto: nodeCrypto,
      clock: systemClock,
      logger,
    });
    const service = {
      logs: this.#logs,
      controlPlane: {
        addCheckpoint: (body: Uint8Array) => witness.add(body),
        cosignedCheckpoint: async (originHash: Uint8Array) => witness.newestOf(originHash),
      },
      callers: new PublicLog({ rates: RATES, proxies: new Proxies([]), clock: systemClock }),
      crypto: nodeCrypto,
    };
    const metrics = new ApiMetrics({
      outstanding: () => 0,
      stoppedReason: () => null,
      databaseUsage: async () => null,
    });
    const server = createServer((request, response) => {
      const isServed = serveWitness(request, response, service, { clock: systemClock, logger, metrics });
      if (!isServed) response.writeHead(418).end();
    });
    await new Promise<void>((resolve) => server.listen(this.#port, "127.0.0.1", resolve));
    const address = server.address();
    if (typeof address === "object" && address !== null) this.#port = address.port;
    this.#server = server;
    this.#file = file;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    server?.closeAllConnections();
    await new Promise<void>((resolve) => (server === null ? resolve() : server.close(() => resolve())));
    await this.#file?.close();
    this.#server = null;
    this.#file = null;
  }

  async end(): Promise<void> {
    await this.stop();
    rmSync(this.#home, { recursive: true });
  }
}
