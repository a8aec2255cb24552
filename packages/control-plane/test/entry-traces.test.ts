import { describe, expect, test } from "@jest/globals";
import type { TraceContext } from "@event-anchoring/control-contract";
import type { Span, SpanStart, Tracer } from "@event-anchoring/telemetry";
import { EntryTraces, type Stage } from "../src/observing/entry-traces.ts";
import type { QueuedGroup } from "../src/proposals/leader-queue.ts";

interface NotedSpan extends SpanStart {
  readonly name: string;
  readonly context: TraceContext;
  ended: string | null;
  linked: TraceContext[];
  said: Record<string, unknown>;
}

/** Keeps what was begun and ended; ids are counted. */
class NotingTracer implements Tracer {
  readonly spans: NotedSpan[] = [];
  isWanting = true;

  start(name: string, start: SpanStart): Span | null {
    if (!this.isWanting) return null;
    const traceId = start.parent?.traceId ?? "f".repeat(32);
    const context = { traceId, spanId: String(this.spans.length + 1).padStart(16, "0") };
    const noted: NotedSpan = { ...start, name, context, ended: null, linked: [], said: {} };
    this.spans.push(noted);
    return {
      context,
      set: (attributes) => void Object.assign(noted.said, attributes),
      link: (other) => void noted.linked.push(other),
      end: (failed = "ok") => void (noted.ended ??= failed),
    };
  }

  counts = () => ({ exported: 0, dropped: 0, failed: 0, waiting: 0 });
  close = async (): Promise<void> => {};

  named(name: string): NotedSpan[] {
    return this.spans.filter((span) => span.name === name);
  }
}

const STAGES: readonly Stage[] = ["append", "decide", "apply", "cosign", "certify"];
const context = (at: number): TraceContext => ({ traceId: String(at).padStart(32, "a"), spanId: "b".repeat(16) });

function group(counter: number, traces?: readonly TraceContext[]): QueuedGroup {
  const id = { node: 1n, incarnation: 1, counter };
  return { id, ...(traces === undefined ? {} : { traces }) } as QueuedGroup;
}

function setUp(): { tracer: NotingTracer; traces: EntryTraces; announced: [number, TraceContext][] } {
  const tracer = new NotingTracer();
  const announced: [number, TraceContext][] = [];
  const traces = new EntryTraces({ tracer, announce: ({ index }, span) => announced.push([index, span]) });
  return { tracer, traces, announced };
}

describe("on the leader", () => {
  test("an entry is of the trace of its first traced write, linked to all, and announced", () => {
    const { tracer, traces, announced } = setUp();
    const groups = [group(1), group(2, [context(2), context(3)]), group(3, [context(4)])];
    for (const each of groups) traces.onQueued(each);
    traces.onProposed({ index: 9, term: 2 }, groups);
    const waits = tracer.named("leader queue");
    const [entry] = tracer.named("raft entry");
    expect(waits.map(({ parent, ended }) => [parent, ended])).toEqual([
      [context(2), "ok"],
      [context(3), "ok"],
      [context(4), "ok"],
    ]);
    expect(entry?.parent).toEqual(waits[0]?.context);
    expect(entry?.links).toEqual(waits.map((wait) => wait.context));
    expect(waits.every(({ linked }) => linked[0] === entry?.context)).toBe(true);
    expect(announced).toEqual([[9, entry?.context]]);
    expect(entry?.ended).toBeNull();
    for (const stage of STAGES) traces.begin(stage, { index: 9, term: 2 });
    for (const stage of STAGES) traces.end(stage, 9);
    expect(tracer.spans.map(({ ended }) => ended)).toEqual(tracer.spans.map(() => "ok"));
    expect(traces.size).toBe(0);
  });

  test("an entry without traced writes has no span, and nobody is told of it", () => {
    const { tracer, traces, announced } = setUp();
    traces.onQueued(group(1));
    traces.onProposed({ index: 9, term: 2 }, [group(1)]);
    for (const stage of STAGES) traces.begin(stage, { index: 9, term: 2 });
    expect([tracer.spans, announced, traces.size]).toEqual([[], [], 0]);
  });

  test("a sampler that changes its mind leaves nothing behind", () => {
    const { tracer, traces, announced } = setUp();
    traces.onQueued(group(1, [context(1)]));
    tracer.isWanting = false;
    traces.onProposed({ index: 9, term: 2 }, [group(1)]);
    expect([announced, traces.size]).toEqual([[], 0]);
    expect(tracer.spans.map(({ ended }) => ended)).toEqual(["ok"]);
  });

  test("a refused group ends its wait with the reason", () => {
    const { tracer, traces } = setUp();
    traces.onQueued(group(1, [context(1)]));
    traces.onRefused([group(1)], "overloaded");
    traces.onRefused([group(1)], "no_leader");
    traces.onProposed({ index: 9, term: 2 }, [group(1)]);
    expect(tracer.spans.map(({ name, ended }) => [name, ended])).toEqual([["leader queue", "overloaded"]]);
  });
});

describe("on every node", () => {
  test("another leader's entry at that place is not taken for the one that was followed", () => {
    const { tracer, traces } = setUp();
    traces.onAnnounced({ index: 9, term: 2 }, context(1));
    traces.begin("append", { index: 9, term: 2 });
    traces.begin("decide", { index: 9, term: 3 });
    expect(tracer.spans.map(({ name, ended }) => [name, ended])).toEqual([["raft append", "replaced"]]);
    expect(traces.size).toBe(0);
  });

  test("an older term's word does not take the place of a newer one's", () => {
    const { traces } = setUp();
    traces.onAnnounced({ index: 9, term: 3 }, context(1));
    traces.onAnnounced({ index: 9, term: 2 }, context(2));
    expect(traces.isFollowed({ index: 9, term: 3 })).toBe(true);
  });

  test("a leader that announces without end takes no more than its places", () => {
    const { tracer, traces } = setUp();
    traces.onAnnounced({ index: 1, term: 1 }, context(1));
    traces.begin("append", { index: 1, term: 1 });
    for (let index = 2; index < 5000; index++) traces.onAnnounced({ index, term: 1 }, context(1));
    expect(traces.size).toBeLessThanOrEqual(1024);
    expect(tracer.spans.map(({ ended }) => ended)).toEqual(["too_many"]);
  });

  test("a cosignature that nobody needed says so", () => {
    const { tracer, traces } = setUp();
    traces.onAnnounced({ index: 9, term: 2 }, context(1));
    for (const stage of STAGES) traces.begin(stage, { index: 9, term: 2 });
    traces.end("certify", 9);
    expect(tracer.named("cosign")[0]).toMatchObject({ ended: "ok", said: { "anchoring.cosign.needed": false } });
    expect(traces.size).toBe(1);
  });

  test("what a session had begun ends with it", () => {
    const { tracer, traces } = setUp();
    traces.onQueued(group(1, [context(1)]));
    traces.onAnnounced({ index: 9, term: 2 }, context(1));
    traces.begin("append", { index: 9, term: 2 });
    traces.close();
    expect(tracer.spans.map(({ ended }) => ended)).toEqual(["session_ended", "session_ended"]);
    expect(traces.size).toBe(0);
  });

  test("ends of what was never begun change nothing", () => {
    const { tracer, traces } = setUp();
    for (const stage of STAGES) traces.end(stage, 9);
    traces.onAnnounced({ index: 9, term: 2 }, context(1));
    traces.end("append", 9);
    expect(tracer.spans).toEqual([]);
  });
});
