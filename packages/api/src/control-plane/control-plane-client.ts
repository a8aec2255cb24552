import { connect } from "node:net";
import type { Socket } from "node:net";
import {
  FrameSplitter,
  LOCAL_FRAME_BYTES_MAX,
  LOCAL_WINDOW,
  LocalResponseReader,
  encodeLocalRequest,
  joinFrames,
  RETRY_AFTER_MS,
} from "@event-anchoring/control-contract";
import type {
  CallerKey,
  LocalRequest,
  LocalResponse,
  NodeStatus,
  SubmittedOutcome,
  WitnessAnswer,
} from "@event-anchoring/control-contract";
import { encodeCommand } from "@event-anchoring/ledger";
import type { Command } from "@event-anchoring/ledger";
import type { OriginFingerprint } from "@event-anchoring/protocol";
import type { Tracer, Logger } from "@event-anchoring/telemetry";
import { RefusedError } from "./control-plane.ts";
import type { ControlPlane, ReadyToRead, SubmitOptions } from "./control-plane.ts";
import type { StoppedReason } from "./stopped-node.ts";

/** The control plane answers within its time and 250 ms; this process gives up a little earlier, to answer in time. */
const ANSWER_GRACE_MS = 200;
const RECONNECT_FIRST_MS = 25;
const RECONNECT_MAX_MS = 1000;
/** Bytes handed to the socket and not yet taken by it, above which requests are refused. */
const UNSENT_BYTES_MAX = 16 * 1024 * 1024;

export interface ControlPlaneClientOptions {
  readonly socketPath: string;
  readonly logger: Logger;
  /** Absent or null: nothing is traced. */
  readonly tracer?: Tracer | null;
  /** Why the control plane has stopped for good; null: it has not, as far as is known. Absent: not known. */
  readonly stoppedReason?: () => StoppedReason | null;
}

/** The request without the id, which this client assigns. */
type Unnumbered = LocalRequest extends infer R ? (R extends LocalRequest ? Omit<R, "requestId"> : never) : never;

interface AnswerWaiter {
  /** Decides what a missing answer means: a write may have been done. */
  readonly type: LocalRequest["type"];
  readonly timer: NodeJS.Timeout;
  readonly resolve: (response: LocalResponse) => void;
  readonly reject: (error: RefusedError) => void;
}

/**
 * The connection of the api process to its control plane.
 *
 * - connecting: no connection; requests are refused at once, nothing of them was sent: `unavailable`, or `fenced` or
 *   `halted` if the control plane has left a file that says that it stopped for good. A new attempt is made after a
 *   pause that doubles from 25 ms to 1 s.
 * - connected: requests get a number and wait. All requests of one turn of the event loop are written together.
 * - When the connection is lost, all waiting requests are answered at once: a write `outcome_unknown` (it may have been
 *   forwarded), anything else `unavailable`.
 * - closed: as connecting, for ever.
 */
export class ControlPlaneClient implements ControlPlane {
  readonly #options: ControlPlaneClientOptions;
  readonly #waiters = new Map<number, AnswerWaiter>();
  #socket: Socket | null = null;
  #isConnected = false;
  #isClosed = false;
  #lastRequestId = 0;
  #queued: Uint8Array[] = [];
  #pauseMs = RECONNECT_FIRST_MS;
  #reconnectTimer: NodeJS.Timeout | null = null;

  constructor(options: ControlPlaneClientOptions) {
    this.#options = options;
  }

  get isConnected(): boolean {
    return this.#isConnected;
  }

  get outstanding(): number {
    return this.#waiters.size;
  }

  start(): void {
    this.#connect();
  }

  close(): void {
    this.#isClosed = true;
    if (this.#reconnectTimer !== null) clearTimeout(this.#reconnectTimer);
    this.#socket?.destroy();
    this.#failAll("the api process is stopping");
  }

  async submit(command: Command, options: SubmitOptions): Promise<SubmittedOutcome> {
    const { trace } = options.call;
    const { tracer = null } = this.#options;
    if (tracer === null || trace === null) return this.#submit(command, options);
    const attributes = { "anchoring.command": command.kind };
    const span = tracer.start("control plane submit", { kind: "client", parent: trace, attributes });
    try {
      const call = { ...options.call, trace: span?.context ?? trace };
      const submitted = await this.#submit(command, { ...options, call });
      span?.end();
      return submitted;
    } catch (error) {
      span?.end(error instanceof RefusedError ? error.code : "internal_error");
      throw error;
    }
  }

  async #submit(command: Command, { remainingMs, answer, call }: SubmitOptions): Promise<SubmittedOutcome> {
    // Before it is encoded: shedding load must be cheap.
    const refusal = this.#refusalBeforeSending(remainingMs);
    if (refusal !== null) throw refusal;
    const request = { type: "submit", remainingMs, answer, command: encodeCommand(command), call } as const;
    const response = await this.#ask(request, remainingMs);
    if (response.type !== "submitted") throw this.#unexpected(response);
    return response.outcome;
  }

  async read(origins: readonly OriginFingerprint[] | "all" | "none", remainingMs: number): Promise<ReadyToRead> {
    const response = await this.#ask({ type: "read", remainingMs, origins }, remainingMs);
    if (response.type !== "ready_to_read") throw this.#unexpected(response);
    return response;
  }

  async readLatest(origin: OriginFingerprint, remainingMs: number): Promise<ReadyToRead> {
    const response = await this.#ask({ type: "read_latest", remainingMs, origin }, remainingMs);
    if (response.type !== "ready_to_read") throw this.#unexpected(response);
    return response;
  }

  async awaitHead(origin: OriginFingerprint, afterSize: number, remainingMs: number): Promise<ReadyToRead> {
    return this.#awaitHead({ origin, afterSize, remainingMs, isWitnessed: false });
  }

  async awaitWitnessed(origin: OriginFingerprint, afterSize: number, remainingMs: number): Promise<ReadyToRead> {
    return this.#awaitHead({ origin, afterSize, remainingMs, isWitnessed: true });
  }

  async #awaitHead(
    asked: Omit<Extract<LocalRequest, { type: "await_head" }>, "type" | "requestId">,
  ): Promise<ReadyToRead> {
    const response = await this.#ask({ type: "await_head", ...asked }, asked.remainingMs);
    if (response.type !== "ready_to_read") throw this.#unexpected(response);
    return response;
  }

  async apiKeys(remainingMs: number): Promise<readonly CallerKey[]> {
    const response = await this.#ask({ type: "api_keys", remainingMs }, remainingMs);
    if (response.type !== "api_keys") throw this.#unexpected(response);
    return response.keys;
  }

  async addCheckpoint(body: Uint8Array, remainingMs: number): Promise<WitnessAnswer> {
    const response = await this.#ask({ type: "add_checkpoint", remainingMs, body }, remainingMs);
    if (response.type !== "checkpoint_added") throw this.#unexpected(response);
    return response.answer;
  }

  async cosignedCheckpoint(originHash: Uint8Array, remainingMs: number): Promise<string | null> {
    const response = await this.#ask({ type: "cosigned_checkpoint", originHash }, remainingMs);
    if (response.type !== "cosigned_checkpoint") throw this.#unexpected(response);
    return response.checkpoint;
  }

  async status(remainingMs: number): Promise<NodeStatus> {
    const response = await this.#ask({ type: "status" }, remainingMs);
    if (response.type !== "status") throw this.#unexpected(response);
    return response.status;
  }

  async metrics(remainingMs: number): Promise<string> {
    const response = await this.#ask({ type: "metrics" }, remainingMs);
    if (response.type !== "metrics") throw this.#unexpected(response);
    return response.text;
  }

  #unexpected(response: LocalResponse): Error {
    if (response.type === "refused") {
      return new RefusedError(response.code, response.detail, response.retryAfterMs);
    }
    return new Error(`the control plane answered with ${response.type}`);
  }

  #ask(request: Unnumbered, remainingMs: number): Promise<LocalResponse> {
    return new Promise((resolve, reject) => {
      const refusal = this.#refusalBeforeSending(remainingMs);
      if (refusal !== null) {
        reject(refusal);
        return;
      }
      const requestId = this.#nextRequestId();
      const timer = setTimeout(() => this.#giveUp(requestId), remainingMs + ANSWER_GRACE_MS);
      this.#waiters.set(requestId, { type: request.type, timer, resolve, reject });
      this.#send({ ...request, requestId });
    });
  }

  #refusalBeforeSending(remainingMs: number): RefusedError | null {
    if (!this.#isConnected) return this.#refusalWithoutConnection();
    if (remainingMs <= 0) return new RefusedError("deadline_exceeded", "no time left to ask", RETRY_AFTER_MS);
    const isFull = this.#waiters.size >= LOCAL_WINDOW || (this.#socket?.writableLength ?? 0) > UNSENT_BYTES_MAX;
    if (!isFull) return null;
    return new RefusedError("overloaded", `${this.#waiters.size} requests are outstanding`, RETRY_AFTER_MS);
  }

  #refusalWithoutConnection(): RefusedError {
    const { stoppedReason = () => null } = this.#options;
    const stopped = stoppedReason();
    if (stopped === null) return new RefusedError("unavailable", "no connection to the control plane", RETRY_AFTER_MS);
    const { reason, check, detail } = stopped;
    return new RefusedError(reason, `the control plane has ended: ${check}: ${detail}`, RETRY_AFTER_MS);
  }

  #nextRequestId(): number {
    do this.#lastRequestId = (this.#lastRequestId + 1) >>> 0;
    while (this.#waiters.has(this.#lastRequestId));
    return this.#lastRequestId;
  }

  /** Requests read from different sockets arrive in different callbacks of one turn; setImmediate runs after all. */
  #send(request: LocalRequest): void {
    if (this.#queued.length === 0) setImmediate(() => this.#flush());
    this.#queued.push(encodeLocalRequest(request));
  }

  #flush(): void {
    const bodies = this.#queued;
    this.#queued = [];
    // After a loss between queueing and flushing, the waiters already have their answer.
    if (bodies.length > 0 && this.#isConnected) this.#socket?.write(joinFrames(bodies));
  }

  #giveUp(requestId: number): void {
    const waiter = this.#waiters.get(requestId);
    if (waiter === undefined) return;
    this.#waiters.delete(requestId);
    const code = waiter.type === "submit" ? "outcome_unknown" : "deadline_exceeded";
    waiter.reject(new RefusedError(code, "the control plane did not answer in time", RETRY_AFTER_MS));
  }

  #failAll(why: string): void {
    const waiters = [...this.#waiters.values()];
    this.#waiters.clear();
    this.#queued = [];
    for (const waiter of waiters) {
      clearTimeout(waiter.timer);
      const code = waiter.type === "submit" ? "outcome_unknown" : "unavailable";
      waiter.reject(new RefusedError(code, why, RETRY_AFTER_MS));
    }
  }

  #connect(): void {
    this.#reconnectTimer = null;
    const socket = connect({ path: this.#options.socketPath });
    const splitter = new FrameSplitter(LOCAL_FRAME_BYTES_MAX);
    const reader = new LocalResponseReader();
    this.#socket = socket;
    let cause = "closed by the control plane";
    socket.on("connect", () => {
      this.#isConnected = true;
      this.#pauseMs = RECONNECT_FIRST_MS;
      this.#options.logger.info("connected to the control plane");
    });
    socket.on("data", (chunk: Buffer) => {
      try {
        for (const body of splitter.push(chunk)) {
          const response = reader.read(body);
          if (response !== null) this.#take(response);
        }
      } catch (error) {
        // Nothing after a broken frame can be trusted to be the answer to anything.
        socket.destroy(error instanceof Error ? error : new Error(String(error)));
      }
    });
    socket.on("error", (error) => {
      cause = error.message;
    });
    socket.on("close", () => this.#lost(socket, cause));
  }

  #lost(socket: Socket, cause: string): void {
    if (socket !== this.#socket) return;
    if (this.#isConnected) this.#options.logger.warn("lost the control plane", { cause });
    this.#isConnected = false;
    this.#socket = null;
    this.#failAll(`connection to the control plane lost: ${cause}`);
    if (this.#isClosed) return;
    // Jitter, so that several processes that lost the same socket do not come back in step.
    this.#reconnectTimer = setTimeout(() => this.#connect(), this.#pauseMs * (0.5 + Math.random() / 2));
    this.#pauseMs = Math.min(this.#pauseMs * 2, RECONNECT_MAX_MS);
  }

  #take(response: LocalResponse): void {
    const waiter = this.#waiters.get(response.requestId);
    // An answer after its deadline: the waiter has already been answered.
    if (waiter === undefined) return;
    this.#waiters.delete(response.requestId);
    clearTimeout(waiter.timer);
    waiter.resolve(response);
  }
}
