import { describe, expect, test } from "@jest/globals";
import type { LocalRequest, LocalResponse } from "@event-anchoring/control-contract";
import { type ApiKey, type Command, encodeCommand } from "@event-anchoring/ledger";
import { toAnchorId, toOriginFingerprint } from "@event-anchoring/protocol";
import type { ReadRequest } from "../src/certification/linearizable-reads.ts";
import { localRequests, trustedRequests } from "../src/local/local-requests.ts";
import type { ControlPlaneNode } from "../src/node/node.ts";
import type { Submission } from "../src/proposals/proposals.ts";
import { quietLogger } from "./doubles.ts";
import { CREDENTIAL, createKeyCommand, eventCommand } from "./commands.ts";
import { claimOf, grantOf, recordClaim, recordGrant, recordRevocation, revocationOf } from "./signed-records.ts";

const ORIGIN = toOriginFingerprint(new Uint8Array(32).fill(1));
const ANCHOR = toAnchorId(new Uint8Array(32).fill(2));
const KEY = { keyId: new Uint8Array(16), keyHash: new Uint8Array(32), overlapMs: 0, expiresMs: 0 };
const PLAN = { originFingerprint: ORIGIN, grantorClaim: ANCHOR, granteeClaim: ANCHOR, delegationDepth: 0 };
const TARGET = { anchorId: ANCHOR, kind: "claim", originFingerprint: ORIGIN } as const;

function submission(command: Uint8Array): LocalRequest {
  return { type: "submit", requestId: 7, answer: "certified", remainingMs: 1000, command, call: null };
}

interface Asked {
  /** What was handed on, of each the kind and whether its bytes are those that were sent. */
  readonly proposed: readonly (readonly [kind: Command["kind"], areItsBytes: boolean])[];
  readonly answers: readonly LocalResponse[];
  readonly errors: readonly string[];
}

function asked(door: typeof localRequests, request: LocalRequest): Asked {
  const proposed: [Command["kind"], boolean][] = [];
  const answers: LocalResponse[] = [];
  const errors: string[] = [];
  const submit = ({ command, bytes }: Submission): void => {
    proposed.push([command.kind, request.type === "submit" && bytes === request.command]);
  };
  const status = () => ({ serving: { state: "running", failing: [] } });
  const node = { session: { submit }, status } as unknown as ControlPlaneNode;
  const clock = { monotonicMs: () => 0 } as Parameters<typeof localRequests>[0]["clock"];
  const logger = { ...quietLogger, error: (event: string) => void errors.push(event) };
  door({ clock, node, logger, metrics: async () => "" })(
    request,
    (answer) => answers.push(answer),
    new AbortController().signal,
  );
  return { proposed, answers, errors };
}

test("no state is held while the node does not serve", () => {
  const request: LocalRequest = { type: "hold_state", requestId: 7, remainingMs: 1000, purpose: "backup" };
  const { answers } = asked(localRequests, request);
  expect(answers).toMatchObject([{ type: "refused", requestId: 7, code: "unavailable" }]);
});

test("the key table is that of the state in memory, once a read index has been reached", () => {
  const answers: LocalResponse[] = [];
  let ready: () => void = () => {};
  const apiKeys = new Map<string, ApiKey>();
  const session = {
    read: ({ origins, respond }: ReadRequest): void => {
      expect(origins).toBe("none");
      ready = () =>
        respond({ type: "ready_to_read", readIndex: 9, certificates: [], trustRootVersion: 1, latest: null });
    },
    state: { apiKeys },
  };
  const clock = { monotonicMs: () => 0 } as Parameters<typeof localRequests>[0]["clock"];
  const node = { session } as unknown as ControlPlaneNode;
  localRequests({ clock, node, metrics: async () => "" })(
    { type: "api_keys", requestId: 4, remainingMs: 1000 },
    (answer) => answers.push(answer),
    new AbortController().signal,
  );
  // What is decided until then counts.
  const key = { keyId: new Uint8Array(16) } as ApiKey;
  apiKeys.set("key", key);
  expect(answers).toEqual([]);
  ready();
  expect(answers).toEqual([{ type: "api_keys", requestId: 4, keys: [key] }]);
});

describe("the api process", () => {
  test.each<Command>([
    eventCommand(ORIGIN, 1),
    recordClaim(CREDENTIAL, claimOf(ORIGIN, "somebody")),
    recordGrant(CREDENTIAL, grantOf({ ...PLAN, grantor: "somebody" })),
    recordRevocation(CREDENTIAL, revocationOf(TARGET, null)),
    { kind: "erase_client_event", credential: CREDENTIAL, anchorId: ANCHOR },
  ])("may propose $kind: what it has encoded is what is handed on", (command) => {
    const proposed = [[command.kind, true]];
    expect(asked(localRequests, submission(encodeCommand(command)))).toEqual({ proposed, answers: [], errors: [] });
  });

  test.each<Command>([
    createKeyCommand(),
    { kind: "revoke_api_key", keyId: KEY.keyId },
    { kind: "rotate_api_key", ...KEY },
    { kind: "trust_root", document: "" },
    { kind: "genesis", document: "" },
    { kind: "mark_certify_point" },
  ])("may not propose $kind: that is an operator's, or the node's own", (command) => {
    const request = submission(encodeCommand(command));
    const detail = `${command.kind} is no command of a client`;
    const refusal = { type: "refused", requestId: 7, code: "unavailable", detail };
    expect(asked(localRequests, request)).toMatchObject({ proposed: [], answers: [refusal] });
    expect(asked(trustedRequests, request)).toMatchObject({ proposed: [[command.kind, true]], answers: [] });
  });

  const event = encodeCommand(eventCommand(ORIGIN, 1));

  test.each([
    ["cut short", event.slice(0, -1)],
    ["too long", Uint8Array.from([...event, 0])],
    ["of an unknown kind", Uint8Array.of(1, 0xff)],
    ["of an unknown version", Uint8Array.of(9, 5)],
  ])("hears of a command that is %s that it is none, and the operator reads it in the log", (_what, bytes) => {
    const refusal = { type: "refused", requestId: 7, code: "unavailable" };
    for (const door of [localRequests, trustedRequests]) {
      const { proposed, answers, errors } = asked(door, submission(bytes));
      expect({ proposed, answers, errors }).toMatchObject({
        proposed: [],
        answers: [refusal],
        errors: ["local_command_invalid"],
      });
    }
  });
});
