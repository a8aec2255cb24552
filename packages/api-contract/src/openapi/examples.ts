/** Examples of requests and answers, all of one small ledger: what one answers, another asks for. */
import type { RouteId } from "../routes.ts";
import { readsOfEvents, verificationsOfEvents, refusedItem, writesOfEvents } from "./event-examples.ts";
import type { ExampleLedger } from "./example-ledger.ts";
import { ofNode } from "./node-examples.ts";
import { ofRecords } from "./record-examples.ts";
import { Shown } from "./shown.ts";
import type { RouteExamples } from "./shown.ts";

export function routeExamples(ledger: ExampleLedger): Partial<Record<RouteId, RouteExamples>> {
  const shown = new Shown(ledger);
  return {
    ...writesOfEvents(shown),
    ...verificationsOfEvents(shown),
    ...readsOfEvents(shown),
    ...ofRecords(shown),
    ...ofNode(shown),
  };
}

/** What a problem's document says beyond the common members, by code. */
export function problemExtensions(ledger: ExampleLedger): Readonly<Record<string, object>> {
  const shown = new Shown(ledger);
  const results = [refusedItem("/events/0/semantic_anchor/iris_ref")];
  const summary = { total: 1, created: 0, replayed: 0, committed: 0, refused: 1 };
  return {
    no_active_claim: { anchor_id: shown.id("agent"), state: "revoked" },
    no_active_grant: { anchor_id: shown.id("grant"), state: "revoked" },
    client_event_id_erased: { anchor_id: shown.id("event") },
    batch_refused: { results, summary },
  };
}
