/** The other end of a node's local link, as a process of the api finds it: a fake node behind a real socket. */
import { createServer } from "node:net";
import type { Server, Socket } from "node:net";
import {
  FrameSplitter,
  LOCAL_FRAME_BYTES_MAX,
  LocalResponseWriter,
  decodeLocalRequest,
  joinFrames,
} from "@event-anchoring/control-contract";
import type { LocalRequest, LocalResponse } from "@event-anchoring/control-contract";
import { decodeCommand } from "@event-anchoring/ledger";
import { StateHold } from "@event-anchoring/store";
import type { LedgerStore } from "@event-anchoring/store";
import type { FakeNode } from "./fake-node.ts";

export class FakeControl {
  readonly #node: FakeNode;
  readonly #store: LedgerStore;
  readonly #sockets = new Set<Socket>();
  readonly server: Server;
  #applied = 0;
  #stateRoot: Uint8Array | null = null;
  readonly #databaseUrl: string;
  /** Whether a quorum signs states. */
  isSigning = true;
  /** States that were asked for, and those that are held. */
  holds = 0;
  held = 0;

  constructor(path: string, node: FakeNode, { store, databaseUrl }: { store: LedgerStore; databaseUrl: string }) {
    this.#node = node;
    this.#store = store;
    this.#databaseUrl = databaseUrl;
    this.server = createServer((socket) => this.#accept(socket)).listen(path);
  }

  /** Every decision of the fake node, into real tables. */
  async applyDecisions(): Promise<void> {
    for (const decision of this.#node.decisions.slice(this.#applied)) {
      this.#stateRoot = (await this.#store.apply({ decision, confState: null })).stateRoot;
      this.#applied += 1;
    }
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.server.close();
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    const splitter = new FrameSplitter(LOCAL_FRAME_BYTES_MAX);
    const writer = new LocalResponseWriter();
    let turn: Promise<unknown> = Promise.resolve();
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => {
      for (const body of splitter.push(chunk)) {
        turn = turn.then(async () => {
          const response = await this.#answerTo(decodeLocalRequest(body), socket);
          socket.write(joinFrames(writer.bodiesOf(response)));
        });
      }
    });
  }

  /** After an entry of its own, until the asker has gone. */
  async #hold(requestId: number, socket: Socket): Promise<LocalResponse> {
    this.holds += 1;
    if (!this.isSigning) {
      const detail = "node-a alone signed the state in time";
      return { type: "refused", requestId, code: "unavailable", detail, retryAfterMs: 5000 };
    }
    this.#node.apply([{ kind: "mark_state_point" }]);
    await this.applyDecisions();
    const hold = await StateHold.open(this.#databaseUrl);
    this.held += 1;
    socket.once("close", () => {
      this.held -= 1;
      void hold.release();
    });
    const { databaseSnapshot, raftIndex } = await hold.hold();
    const stateHead = this.#node.signedState(this.#stateRoot ?? new Uint8Array(32));
    return { type: "state_held", requestId, databaseSnapshot, raftIndex, stateHead };
  }

  async #answerTo(request: LocalRequest, socket: Socket): Promise<LocalResponse> {
    const { requestId } = request;
    const node = this.#node;
    switch (request.type) {
      case "submit": {
        const { command, remainingMs, answer, call } = request;
        if (call === null) throw new Error("the api process says whose request it is");
        const outcome = await node.submit(decodeCommand(command), { remainingMs, answer, call });
        await this.applyDecisions();
        return { type: "submitted", requestId, finality: answer, outcome };
      }
      case "read":
        return { type: "ready_to_read", requestId, ...(await node.read(request.origins)) };
      case "api_keys":
        return { type: "api_keys", requestId, keys: await node.apiKeys() };
      case "read_latest":
        return { type: "ready_to_read", requestId, ...(await node.readLatest(request.origin)) };
      case "await_head": {
        const { origin, afterSize, remainingMs, isWitnessed } = request;
        const head = isWitnessed
          ? await node.awaitWitnessed(origin, afterSize, remainingMs)
          : await node.awaitHead(origin, afterSize, remainingMs);
        return { type: "ready_to_read", requestId, ...head };
      }
      case "hold_state":
        return this.#hold(requestId, socket);
      case "status":
        return { type: "status", requestId, status: await node.status() };
      case "metrics":
        return { type: "metrics", requestId, text: await node.metrics() };
      default:
        throw new Error("an unknown request");
    }
  }
}
