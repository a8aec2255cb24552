/** A control plane behind a real socket that gives all writes one answer, and allocates next to nothing for it. */
import { createServer } from "node:net";
import type { Socket } from "node:net";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ControlPlaneClient } from "@event-anchoring/api";
import type { ControlPlane } from "@event-anchoring/api";
import {
  FrameSplitter,
  LOCAL_FRAME_BYTES_MAX,
  LocalResponseWriter,
  decodeLocalRequest,
  joinFrames,
} from "@event-anchoring/control-contract";
import type { LocalResponse } from "@event-anchoring/control-contract";
import { silentLogger } from "../../packages/api/test/api-harness.ts";

const ONE_ID = 0x0101_0101;
const ANOTHER_ID = 0x0202_0202;

export class CannedControl {
  readonly #client: ControlPlaneClient;
  readonly #folder = mkdtempSync(join(tmpdir(), "anchoring-canned-"));
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((socket) => this.#accept(socket));
  #before: Buffer = Buffer.alloc(0);
  #frame: Buffer = Buffer.alloc(0);
  #idAt = 0;

  constructor() {
    const socketPath = join(this.#folder, "control.sock");
    this.#server.listen(socketPath);
    this.#client = new ControlPlaneClient({ socketPath, logger: silentLogger });
    this.#client.start();
  }

  /** What is submitted goes to the socket; everything else is asked of `node`. */
  before(node: ControlPlane): ControlPlane {
    const client = this.#client;
    return new Proxy(node, {
      get: (target, name) => {
        if (name === "submit") return client.submit.bind(client);
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
  }

  /**
   * Every request gets this answer, under its own id. The certificate that it names is sent once: under load one covers
   * many answers.
   */
  set answer(response: LocalResponse) {
    const writer = new LocalResponseWriter();
    const bodies = writer.bodiesOf({ ...response, requestId: ONE_ID });
    const others = writer.bodiesOf({ ...response, requestId: ANOTHER_ID });
    this.#before = Buffer.from(joinFrames(bodies.slice(0, -1)));
    this.#frame = Buffer.from(joinFrames(bodies.slice(-1)));
    const other = joinFrames(others.slice(-1));
    this.#idAt = this.#frame.findIndex((byte, at) => byte !== other[at]);
  }

  async close(): Promise<void> {
    this.#client.close();
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    const splitter = new FrameSplitter(LOCAL_FRAME_BYTES_MAX);
    let hasBefore = false;
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => {
      for (const body of splitter.push(chunk)) {
        if (!hasBefore) socket.write(this.#before);
        hasBefore = true;
        this.#frame.writeUInt32BE(decodeLocalRequest(body).requestId, this.#idAt);
        // A copy: the socket may keep what it is given.
        socket.write(Buffer.from(this.#frame));
      }
    });
  }
}
