/** The state of this node as a quorum has signed it, held for proofs by the node's own control plane. */
import { connect } from "node:net";
import { OneAnswer, encodeLocalRequest, joinFrames } from "@event-anchoring/control-contract";
import type { LocalResponse } from "@event-anchoring/control-contract";
import { RefusedError } from "./control-plane.ts";
import type { UnservedCode } from "./control-plane.ts";

/** The state after one entry: data that can change threads. */
export interface SignedState {
  /** Name of the database snapshot that has exactly this state. */
  readonly databaseSnapshot: string;
  readonly raftIndex: number;
  /** The signed note. */
  readonly stateHead: string;
}

export interface HeldState extends SignedState {
  /** The state need not be held any longer: every reader has it. */
  release(): void;
}

/** What the control plane may take beyond its time to say so. */
const GRACE_MS = 200;

/** What it calls a state that too few nodes have signed in time. */
const NOT_SIGNED: ReadonlySet<UnservedCode> = new Set<UnservedCode>(["unavailable", "deadline_exceeded"]);

function refusedBy(response: LocalResponse): RefusedError {
  if (response.type !== "refused") return notSigned(`the control plane answers with ${response.type}`);
  const { code, detail, retryAfterMs } = response;
  return new RefusedError(NOT_SIGNED.has(code) ? "state_not_signed" : code, detail, retryAfterMs);
}

function notSigned(detail: string): RefusedError {
  return new RefusedError("state_not_signed", detail);
}

/**
 * Has a quorum sign the state after an entry that is made now, and this node hold it. On a connection of its own, which
 * ends with the hold.
 * @param socketPath where the control plane listens for this process
 * @throws RefusedError `state_not_signed`; `overloaded`, `fenced`, … as the control plane refuses
 */
export function holdState(socketPath: string, remainingMs: number): Promise<HeldState> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path: socketPath });
    const answer = new OneAnswer();
    const fail = (error: RefusedError): void => {
      clearTimeout(timer);
      socket.destroy();
      reject(error);
    };
    const timer = setTimeout(() => fail(notSigned("the control plane did not answer in time")), remainingMs + GRACE_MS);
    const settle = (response: LocalResponse): void => {
      if (response.type !== "state_held") return fail(refusedBy(response));
      clearTimeout(timer);
      const { databaseSnapshot, raftIndex, stateHead } = response;
      return resolve({ databaseSnapshot, raftIndex, stateHead, release: () => socket.destroy() });
    };
    socket.once("connect", () => {
      const request = { type: "hold_state", requestId: 1, remainingMs, purpose: "proof" } as const;
      socket.write(joinFrames([encodeLocalRequest(request)]));
    });
    socket.on("data", (chunk: Buffer) => {
      try {
        const response = answer.take(chunk);
        if (response !== null) settle(response);
      } catch (error) {
        fail(notSigned(`the control plane's answer cannot be read: ${String(error)}`));
      }
    });
    socket.on("error", ({ message }) => fail(notSigned(`no connection to the control plane: ${message}`)));
    socket.on("close", () => fail(notSigned("the control plane has ended the connection")));
  });
}
