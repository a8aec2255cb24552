import {
  type CallAnswer,
  type CallOptions,
  PeerCallError,
  type PeerNetworkOptions,
} from "@event-anchoring/control-plane";
import type { SimulatedProcess } from "../world/simulated-process.ts";
import type { World } from "../world/world.ts";
import { type Link, PATIENCE } from "./link.ts";

export interface SimulatedCallsOptions {
  readonly machine: string;
  readonly process: SimulatedProcess;
  readonly nodeId: string;
  readonly unary: PeerNetworkOptions["unary"];
  readonly world: World;
  readonly link: (from: string, to: string) => Link;
  /** The calls of the process that listens on that machine; null: none does. */
  readonly callsAt: (machine: string) => SimulatedCalls | null;
}

/** Unary calls that one process makes and answers. They do not depend on the connections that carry frames. */
export class SimulatedCalls {
  readonly #options: SimulatedCallsOptions;

  constructor(options: SimulatedCallsOptions) {
    this.#options = options;
  }

  async call(to: string, path: string, body: Uint8Array | null, options: CallOptions): Promise<CallAnswer> {
    const { machine, process, nodeId, callsAt } = this.#options;
    return new Promise((resolve, reject) => {
      const abort = new AbortController();
      const fail = (code: PeerCallError["code"], detail: string): void => {
        timer.cancel();
        abort.abort();
        reject(new PeerCallError(code, detail));
      };
      const timer = process.clock.startTimer(options.timeoutMs, () => fail("timeout", `${to} did not answer`));
      options.signal?.addEventListener("abort", () => fail("aborted", "the caller gave up"), { once: true });
      this.#carry(machine, to, abort.signal, () => {
        const listener = callsAt(to);
        if (listener === null) {
          process.turn(() => fail("connection_refused", `${to} does not listen`));
          return;
        }
        listener.#serve(nodeId, path, body, abort.signal, (answer) => {
          this.#carry(to, machine, abort.signal, () => {
            process.turn(() => {
              timer.cancel();
              resolve(answer);
            });
          });
        });
      });
    });
  }

  /** A call's message is resent until it arrives, or until the caller gives up. */
  #carry(from: string, to: string, signal: AbortSignal, arrive: () => void): void {
    const link = this.#options.link(from, to);
    const isBlocked = (): boolean => link.isCut || link.isClogged;
    this.#options.world.after(isBlocked() ? PATIENCE.blockedMs : link.maxMs, () => {
      if (signal.aborted) return;
      if (isBlocked()) this.#carry(from, to, signal, arrive);
      else arrive();
    });
  }

  #serve(
    from: string,
    path: string,
    body: Uint8Array | null,
    signal: AbortSignal,
    reply: (answer: CallAnswer) => void,
  ): void {
    this.#options.process.turn(() => {
      const handler = this.#options.unary[path];
      if (handler === undefined) return reply({ status: 404, body: new Uint8Array() });
      handler({ from: { kind: "node", nodeId: from }, body: body ?? new Uint8Array(), signal }).then(
        (answer) => {
          if ("body" in answer) reply({ status: answer.status, body: answer.body });
          else reply({ status: 500, body: new Uint8Array() });
        },
        () => reply({ status: 500, body: new Uint8Array() }),
      );
    });
  }
}
