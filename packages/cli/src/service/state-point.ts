/** The state of a node as a quorum has signed it, held for a backup by the node's own control plane. */
import { connect } from "node:net";
import type { Socket } from "node:net";
import { FrameSizeError, OneAnswer, encodeLocalRequest, joinFrames } from "@event-anchoring/control-contract";
import type { LocalResponse } from "@event-anchoring/control-contract";
import { DecodeError } from "@event-anchoring/protocol";
import type { SignedStatePoint } from "@event-anchoring/store";
import { CliError, EXIT } from "../terminal/cli-error.ts";

/** For an election, and for the signatures of nodes that are busy. */
const SIGNED_WITHIN_MS = 15_000;
/** What the control plane may take beyond that to say so. */
const GRACE_MS = 1000;
const INSTEAD = "--unsigned makes a backup whose API keys, members and endings are not proved";

export interface HeldPoint {
  readonly point: SignedStatePoint;
  /** The state need not be held any longer: it is being read. */
  release(): void;
}

function notSigned(why: string, cause?: unknown): CliError {
  return new CliError(EXIT.unavailable, "state_not_signed", `${why}. ${INSTEAD}`, cause);
}

/**
 * Has a quorum sign the state, and this node hold it.
 * @param socketPath where the control plane listens for its api process
 * @throws CliError `state_not_signed`: no quorum has signed it in time, or the control plane does not answer
 */
export async function holdSignedState(socketPath: string): Promise<HeldPoint> {
  const socket = connect({ path: socketPath });
  try {
    const answer = await ask(socket, socketPath);
    if (answer.type === "refused") throw notSigned(`no quorum has signed the state: ${answer.detail} (${answer.code})`);
    if (answer.type !== "state_held") throw notSigned(`the control plane answers with ${answer.type}`);
    const { databaseSnapshot, stateHead } = answer;
    return { point: { databaseSnapshot, stateHead }, release: () => socket.destroy() };
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

function ask(socket: Socket, path: string): Promise<LocalResponse> {
  return new Promise<LocalResponse>((resolve, reject) => {
    const answer = new OneAnswer();
    const timer = setTimeout(
      () => reject(notSigned(`the control plane at ${path} does not answer`)),
      SIGNED_WITHIN_MS + GRACE_MS,
    );
    const fail = (why: string, cause?: unknown): void => {
      clearTimeout(timer);
      reject(notSigned(why, cause));
    };
    socket.once("connect", () => {
      const request = { type: "hold_state", requestId: 1, remainingMs: SIGNED_WITHIN_MS, purpose: "backup" } as const;
      socket.write(joinFrames([encodeLocalRequest(request)]));
    });
    socket.on("data", (chunk: Buffer) => {
      try {
        const response = answer.take(chunk);
        if (response === null) return;
        clearTimeout(timer);
        resolve(response);
      } catch (error) {
        if (!(error instanceof DecodeError) && !(error instanceof FrameSizeError)) throw error;
        fail(`the control plane at ${path} is of another build`, error);
      }
    });
    socket.on("error", (error) => fail(`cannot connect to ${path} from this account: ${error.message}`, error));
    socket.on("close", () => fail(`the control plane at ${path} has ended the connection`));
  });
}
