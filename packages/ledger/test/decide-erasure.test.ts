import { describe, expect, test } from "@jest/globals";
import { toAnchorId } from "@event-anchoring/protocol";
import type { AnchorId } from "@event-anchoring/protocol";
import { SCOPES } from "../src/index.ts";
import type { Command, Credential, EraseClientEventCommand } from "../src/index.ts";
import { hash } from "../../../test/worlds/cluster.ts";
import {
  CLIENT_ID,
  CREDENTIAL,
  LedgerHarness,
  codeOf,
  credentialOf,
  event,
  keyCommand,
  record,
} from "../../../test/worlds/ledger-harness.ts";
import { claim, signedEvent } from "../../../test/worlds/signed-records.ts";

/** A key of the API client that has recorded the events. */
const ADMIN = { apiClientId: CLIENT_ID, keyId: credentialOf("admin").keyId };
const STRANGER = credentialOf("stranger");

function erase(anchorId: AnchorId, credential: Credential = ADMIN): EraseClientEventCommand {
  return { kind: "erase_client_event", credential, anchorId };
}

function started(): LedgerHarness {
  const ledger = LedgerHarness.started();
  ledger.run(keyCommand("admin", ["admin"], { apiClientId: CLIENT_ID }));
  ledger.run(keyCommand("stranger", SCOPES));
  return ledger;
}

describe("checks, in order of precedence", () => {
  test.each<[string, (ledger: LedgerHarness) => EraseClientEventCommand, string, string | undefined]>([
    ["no key", () => erase(toAnchorId(hash("missing")), credentialOf("nobody")), "api_key_invalid", undefined],
    ["no scope", () => erase(toAnchorId(hash("missing")), CREDENTIAL), "scope_missing", undefined],
    ["no anchor", () => erase(toAnchorId(hash("missing"))), "reference_not_found", "/anchor_id"],
    ["a claim", (l) => erase(l.acceptRecord(claim("x")).anchorId), "reference_wrong_kind", "/anchor_id"],
    [
      "a genesis leaf",
      (l) => erase(l.tables.leaves[0]?.anchorId ?? toAnchorId(hash("x"))),
      "reference_wrong_kind",
      "/anchor_id",
    ],
    [
      "another client's event",
      (l) => erase(l.accept(event("x", { clientEventId: "id" })).anchorId, STRANGER),
      "not_own_record",
      "/anchor_id",
    ],
  ])("%s", (_, commandOf, code, pointer) => {
    const ledger = started();
    const outcome = ledger.run(commandOf(ledger));
    expect(outcome).toMatchObject({
      kind: "rejected",
      rejection: pointer === undefined ? { code } : { code, pointer },
    });
  });
});

describe("erasing", () => {
  test("writes what is to be forgotten, and no leaf", () => {
    const ledger = started();
    const { anchorId, sequence } = ledger.accept(event("x", { clientEventId: "id" }));
    const { writes, outcomes, certify } = ledger.apply(ledger.entry([ledger.group(erase(anchorId))]));
    expect(outcomes).toMatchObject([{ commands: [{ kind: "applied" }] }]);
    expect(writes.erasures).toEqual([{ anchorId, sequence }]);
    expect(writes.leaves).toEqual([]);
    expect(certify).toBe(false);
  });

  test("is not kept in the log, nor is an entry that names the id afterwards, whatever becomes of it", () => {
    const ledger = started();
    const isToBeForgotten = (...commands: Command[]): boolean =>
      ledger.apply(ledger.entry([ledger.group(...commands)])).isToBeForgotten;
    const first = record([event("x", { clientEventId: "id" })]);
    expect(isToBeForgotten(first)).toBe(false);
    expect(isToBeForgotten(first)).toBe(false);
    const anchorId = [...ledger.tables.clientEvents.values()].at(0)?.anchorId ?? toAnchorId(hash("missing"));
    expect(isToBeForgotten(erase(anchorId))).toBe(true);
    expect(isToBeForgotten(erase(anchorId))).toBe(false);
    expect(isToBeForgotten(first)).toBe(true);
    expect(isToBeForgotten(record([event("other", { clientEventId: "id" })]))).toBe(true);
    expect(isToBeForgotten(record([event("x", { clientEventId: "another id" })]))).toBe(false);
  });

  test("again, and of an event without an id, changes nothing", () => {
    const ledger = started();
    const named = ledger.accept(signedEvent("x", "bob", { clientEventId: "id" })).anchorId;
    const nameless = ledger.accept(event("y")).anchorId;
    expect(ledger.runTogether(erase(named), erase(named)).map(codeOf)).toEqual(["applied", "unchanged"]);
    expect(ledger.run(erase(named))).toEqual({ kind: "unchanged" });
    expect(ledger.run(erase(nameless))).toEqual({ kind: "unchanged" });
  });

  test("leaves it known whose event it is: another client is refused as before", () => {
    const ledger = started();
    const { anchorId } = ledger.accept(event("x", { clientEventId: "id" }));
    ledger.run(erase(anchorId));
    expect(codeOf(ledger.run(erase(anchorId, STRANGER)))).toBe("not_own_record");
    expect(codeOf(ledger.run(erase(anchorId)))).toBe("unchanged");
  });

  test("leaves the id taken: the same content replays, other content conflicts", () => {
    const ledger = started();
    const first = ledger.accept(event("x", { clientEventId: "id" }));
    ledger.run(erase(first.anchorId));
    const retry = event("x", { clientEventId: "id", clientEventSalt: hash("another salt") });
    expect(ledger.runEvent(retry)).toMatchObject({ status: "replayed", anchorId: first.anchorId });
    expect(codeOf(ledger.runEvent(event("y", { clientEventId: "id" })))).toBe("client_event_id_conflict");
  });

  test("an event of the same entry is not there yet", () => {
    const ledger = started();
    const named = event("x", { clientEventId: "id" });
    const entry = ledger.entry([
      ledger.group({ kind: "record_events", credential: CREDENTIAL, atomic: false, events: [named] }),
    ]);
    const [leaf] = ledger.decide(entry).writes.leaves;
    if (leaf === undefined) throw new Error("no leaf");
    const decision = ledger.apply({ ...entry, groups: [...entry.groups, ledger.group(erase(leaf.anchorId))] });
    expect(decision.outcomes[1]).toMatchObject({ commands: [{ rejection: { code: "reference_not_found" } }] });
    expect(ledger.run(erase(leaf.anchorId))).toEqual({ kind: "applied" });
  });
});
