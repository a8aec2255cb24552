/** A service as a recorder sees it: it records each id once, answers with a receipt, and fails as it is told. */
import { ConnectionFailed, OutcomeUnknown, Receipt } from "../../src/index.ts";
import type { Anchor, BatchItem, Client, EventToCreate } from "../../src/index.ts";
import { makeProblem } from "../../src/problem-classes.ts";
import { vectors } from "../vectors.ts";

const { good } = vectors("receipt") as { readonly good: readonly { readonly receipt: unknown }[] };
/** That of another event: what receipts prove is tested on a cluster. */
const RECEIPT = Receipt.parse(good[0]?.receipt);

/** What is done with one batch. */
export type Mood = "answers" | "answer_lost" | "unreachable" | "no_receipts";

type Sender = Pick<Client, "createEventAnchors">;

export class FakeService implements Sender {
  /** Hashes by ids. */
  readonly anchored = new Map<string, string>();
  readonly batches: (readonly EventToCreate[])[] = [];
  /** For the next batches; then it answers. */
  moods: Mood[] = [];
  /** By event hash: what is refused of a batch, or, with `whole`, refuses the batch. */
  readonly refusing = new Map<string, { readonly status: number; readonly code: string; readonly whole?: boolean }>();
  /** As long as it is down. */
  isDown = false;

  readonly createEventAnchors: Sender["createEventAnchors"] = (events, options) => {
    options?.signal?.throwIfAborted();
    this.batches.push(events);
    const mood = this.isDown ? "unreachable" : (this.moods.shift() ?? "answers");
    const ids = events.map(({ clientEventId }) => clientEventId ?? "");
    if (mood === "unreachable") return Promise.reject(new ConnectionFailed("nobody answers"));
    const spoilt = events.map((event) => this.#refusalOf(event)).find((refusal) => refusal?.whole === true);
    if (spoilt !== undefined) {
      return Promise.reject(makeProblem(spoilt.code, "the whole is refused", { status: spoilt.status }));
    }
    const results = events.map((event, at) => this.#record(event, ids[at] ?? "", mood));
    if (mood === "answer_lost") return Promise.reject(new OutcomeUnknown("the answer was lost", ids));
    const summary = { total: results.length, created: 0, replayed: 0, committed: 0, refused: 0 };
    return Promise.resolve({ results, summary, clientEventIds: ids, requestId: "r" });
  };

  #refusalOf(event: EventToCreate): { status: number; code: string; whole?: boolean } | undefined {
    return this.refusing.get(Buffer.from(event.eventHash).toString("hex"));
  }

  #record(event: EventToCreate, id: string, mood: Mood): BatchItem {
    const refusal = this.#refusalOf(event);
    const nothing = { anchor: null, receipt: null, replayed: false };
    if (refusal !== undefined) {
      const { status, code } = refusal;
      return { status, ...nothing, problem: { type: "", status, code, title: "", detail: "refused", errors: [] } };
    }
    const hash = Buffer.from(event.eventHash).toString("hex");
    const replayed = this.anchored.has(id);
    if (replayed && this.anchored.get(id) !== hash) throw new Error("another body under a known id");
    this.anchored.set(id, hash);
    const anchor = { kind: "event", anchorId: RECEIPT.anchorId, eventHash: hash } as unknown as Anchor;
    return { status: 201, anchor, receipt: mood === "no_receipts" ? null : RECEIPT, replayed, problem: null };
  }
}
