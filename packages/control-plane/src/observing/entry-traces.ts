import type { TraceContext } from "@event-anchoring/control-contract";
import type { Span, Tracer } from "@event-anchoring/telemetry";
import { type QueuedGroup, groupKey } from "../proposals/leader-queue.ts";
import type { RaftIndex, Term } from "raft-ts";

/** Entries, and groups in the leader's queue, that are followed at a time. The excess is not traced. */
const ENTRIES_MAX = 1024;
const GROUPS_MAX = 1024;

/** What a node does with an entry; each is a span of its own. */
export type Stage = "append" | "decide" | "apply" | "cosign" | "certify";

const NAMES: Readonly<Record<Stage, string>> = {
  append: "raft append",
  decide: "ledger decide",
  apply: "ledger apply",
  cosign: "cosign",
  certify: "certify",
};

/** Where an entry stands in the log. */
export interface Position {
  readonly index: RaftIndex;
  readonly term: Term;
}

interface FollowedEntry {
  readonly term: Term;
  /** The leader's span: what this node does with the entry is part of it. */
  readonly context: TraceContext;
  /** On the leader itself. */
  readonly own: Span | null;
  readonly stages: Map<Stage, Span>;
  /** The stages that must still end before the entry is finished here. */
  readonly open: Set<"apply" | "certify">;
}

export interface EntryTracesOptions {
  readonly tracer: Tracer;
  /** Tells the other nodes of an entry's span. It goes beside the entry, before it. */
  readonly announce: (entry: Position, context: TraceContext) => void;
}

/**
 * The spans of traced writes from the leader's queue to the certificate, on every node that traces.
 *
 * A write's own trace has its wait in the leader's queue. The entry that takes it has a span in the trace of the first
 * traced write it holds, and is linked to all of them; what each node does with the entry is part of that span.
 */
export class EntryTraces {
  readonly #options: EntryTracesOptions;
  readonly #queued = new Map<string, readonly Span[]>();
  readonly #entries = new Map<number, FollowedEntry>();

  constructor(options: EntryTracesOptions) {
    this.#options = options;
  }

  /** Entries that are followed now. */
  get size(): number {
    return this.#entries.size;
  }

  onQueued({ id, traces = [] }: QueuedGroup): void {
    if (traces.length === 0 || this.#queued.size >= GROUPS_MAX) return;
    const attributes = { "anchoring.group.counter": id.counter };
    const spans = traces.flatMap((parent) => this.#options.tracer.start("leader queue", { parent, attributes }) ?? []);
    if (spans.length > 0) this.#queued.set(groupKey(id), spans);
  }

  onRefused(groups: readonly QueuedGroup[], code: string): void {
    if (this.#queued.size === 0) return;
    for (const span of groups.flatMap(({ id }) => this.#takeQueued(groupKey(id)))) span.end(code);
  }

  /** These groups are in that entry of this leader's log. */
  onProposed(entry: Position, groups: readonly QueuedGroup[]): void {
    if (this.#queued.size === 0) return;
    const waited = groups.flatMap(({ id }) => this.#takeQueued(groupKey(id)));
    const [first] = waited;
    if (first === undefined) return;
    const attributes = { ...attributesOf(entry), "anchoring.entry.groups": groups.length };
    const links = waited.map(({ context }) => context);
    const own = this.#options.tracer.start("raft entry", { parent: first.context, links, attributes });
    for (const span of waited) {
      span.set(attributesOf(entry));
      if (own !== null) span.link(own.context);
      span.end();
    }
    if (own === null) return;
    this.#follow(entry, own.context, own);
    this.#options.announce(entry, own.context);
  }

  /**
   * The leader has announced a span for an entry that is on its way. A false announcement costs one of many places, and
   * nothing else.
   */
  onAnnounced(entry: Position, context: TraceContext): void {
    this.#follow(entry, context, null);
  }

  begin(stage: Stage, { index, term }: Position): void {
    if (this.#entries.size === 0) return;
    const followed = this.#entries.get(index);
    if (followed === undefined || followed.stages.has(stage)) return;
    // Another leader's entry took the place of the one that was followed.
    if (followed.term !== term) return this.#drop(index, "replaced");
    const attributes = attributesOf({ index, term });
    const span = this.#options.tracer.start(NAMES[stage], { parent: followed.context, attributes });
    if (span !== null) followed.stages.set(stage, span);
  }

  end(stage: Stage, index: RaftIndex, failed?: string): void {
    if (this.#entries.size === 0) return;
    const followed = this.#entries.get(index);
    if (followed === undefined) return;
    followed.stages.get(stage)?.end(failed);
    if (stage === "certify") this.#endUnneeded(followed);
    if (stage !== "apply" && stage !== "certify") return;
    followed.open.delete(stage);
    if (followed.open.size > 0) return;
    followed.own?.end();
    this.#entries.delete(index);
  }

  isFollowed({ index, term }: Position): boolean {
    return this.#entries.get(index)?.term === term;
  }

  /** The session is over: its open spans will not end by themselves. */
  close(): void {
    for (const key of this.#queued.keys()) for (const span of this.#takeQueued(key)) span.end("session_ended");
    for (const index of this.#entries.keys()) this.#drop(index, "session_ended");
  }

  /** A certificate came before this node's own signature: that is not waited for any more. */
  #endUnneeded({ stages }: FollowedEntry): void {
    const cosign = stages.get("cosign");
    cosign?.set({ "anchoring.cosign.needed": false });
    cosign?.end();
  }

  #takeQueued(key: string): readonly Span[] {
    const spans = this.#queued.get(key) ?? [];
    this.#queued.delete(key);
    return spans;
  }

  #follow({ index, term }: Position, context: TraceContext, own: Span | null): void {
    const before = this.#entries.get(index);
    if (before !== undefined && before.term >= term) return own?.end("replaced");
    this.#drop(index, "replaced");
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined && this.#entries.size >= ENTRIES_MAX) this.#drop(oldest, "too_many");
    this.#entries.set(index, { term, context, own, stages: new Map(), open: new Set(["apply", "certify"]) });
  }

  #drop(index: RaftIndex, why: string): void {
    const followed = this.#entries.get(index);
    if (followed === undefined) return;
    this.#entries.delete(index);
    for (const span of followed.stages.values()) span.end(why);
    followed.own?.end(why);
  }
}

function attributesOf({ index, term }: Position): Readonly<Record<string, number>> {
  return { "anchoring.raft.index": index, "anchoring.raft.term": term };
}
