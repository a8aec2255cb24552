import { describe, expect, test } from "@jest/globals";
import type { LocalRequest, LocalResponse } from "@event-anchoring/control-contract";
import type { Command } from "@event-anchoring/ledger";
import { localRequests, trustedRequests } from "../src/local/local-requests.ts";
import type { ControlPlaneNode } from "../src/node/node.ts";

/** Its kind alone: what is refused is refused without a look at the rest. */
function submission(kind: Command["kind"]): LocalRequest {
  const command = { kind } as Command;
  return { type: "submit", requestId: 7, answer: "certified", remainingMs: 1000, command, call: null };
}

function asked(door: typeof localRequests, request: LocalRequest): { proposed: string[]; answers: LocalResponse[] } {
  const proposed: string[] = [];
  const answers: LocalResponse[] = [];
  const session = { submit: ({ command }: { command: Command }) => void proposed.push(command.kind) };
  const status = () => ({ serving: { state: "running", failing: [] } });
  const node = { session, status } as unknown as ControlPlaneNode;
  const clock = { monotonicMs: () => 0 } as Parameters<typeof localRequests>[0]["clock"];
  door({ clock, node, metrics: async () => "" })(
    request,
    (answer) => answers.push(answer),
    new AbortController().signal,
  );
  return { proposed, answers };
}

test("no state is held while the node does not serve", () => {
  const request: LocalRequest = { type: "hold_state", requestId: 7, remainingMs: 1000 };
  const { answers } = asked(localRequests, request);
  expect(answers).toMatchObject([{ type: "refused", requestId: 7, code: "unavailable" }]);
});

describe("the api process", () => {
  test.each<Command["kind"]>([
    "record_events",
    "record_claim",
    "record_grant",
    "record_revocation",
    "erase_client_event",
  ])("may propose %s", (kind) => {
    expect(asked(localRequests, submission(kind))).toEqual({ proposed: [kind], answers: [] });
  });

  test.each<Command["kind"]>([
    "create_api_key",
    "revoke_api_key",
    "rotate_api_key",
    "trust_root",
    "genesis",
    "mark_certify_point",
  ])("may not propose %s: that is an operator's, or the node's own", (kind) => {
    const refusal = { type: "refused", requestId: 7, code: "unavailable", detail: `${kind} is no command of a client` };
    expect(asked(localRequests, submission(kind))).toMatchObject({ proposed: [], answers: [refusal] });
    expect(asked(trustedRequests, submission(kind))).toEqual({ proposed: [kind], answers: [] });
  });
});
