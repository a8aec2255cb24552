import type { Recorder } from "@event-anchoring/sdk/recorder";
import { recordEvent } from "./adapter.ts";
import type { AdapterOptions, EventRecorder } from "./adapter.ts";

/** What is read of a span of the Agents SDK. */
export interface AgentsSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | null;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly error: { readonly message: string } | null;
  /** Its type says which other members there are. */
  readonly spanData: { readonly type: string };
}

/** What is read of a trace of the Agents SDK. */
export interface AgentsTrace {
  readonly traceId: string;
}

export interface AgentsOptions extends AdapterOptions {
  /** Which spans are recorded. Default: those of tools, handoffs and guardrails. */
  readonly select?: ((span: AgentsSpan) => boolean) | undefined;
}

type Members = Readonly<Record<string, unknown>>;

/** What an agent does, by the type of the span. */
const TYPES: ReadonlyMap<string, string> = new Map([
  ["function", "tool.call"],
  ["handoff", "handoff"],
  ["guardrail", "guardrail"],
]);

/**
 * A tracing processor of OpenAI's Agents SDK: what an agent does becomes an event when it has ended. A tool's call is a
 * `tool.call` with `tool`, `arguments`, `result` or `error`; there are `handoff` (`from_agent`, `to_agent`) and
 * `guardrail` (`guardrail`, `triggered`). Other spans that `select` takes are an `openai_agents.<type>`, with what the
 * SDK exports of the span (`data`). The agent whose span is around it is who acted. The SDK waits for no processor: the
 * first one has recorded an event before the agent goes on, and what `onError` throws is an unhandled rejection.
 *
 *     setTraceProcessors([new RecordingTracingProcessor(recorder)]);
 */
export class RecordingTracingProcessor {
  readonly #recorder: EventRecorder & Pick<Recorder, "flush">;
  readonly #options: AgentsOptions;
  /** For each trace that has not ended: the agent around each of its spans that have not. */
  readonly #agents = new Map<string, Map<string, string | undefined>>();

  constructor(recorder: EventRecorder & Pick<Recorder, "flush">, options: AgentsOptions = {}) {
    this.#recorder = recorder;
    this.#options = options;
  }

  onTraceStart({ traceId }: AgentsTrace): Promise<void> {
    this.#agents.set(traceId, new Map());
    return Promise.resolve();
  }

  onTraceEnd({ traceId }: AgentsTrace): Promise<void> {
    this.#agents.delete(traceId);
    return Promise.resolve();
  }

  onSpanStart({ traceId, spanId, parentId, spanData }: AgentsSpan): Promise<void> {
    const agents = this.#agents.get(traceId);
    const { name } = spanData as Members;
    const isAgent = spanData.type === "agent" && typeof name === "string";
    agents?.set(spanId, isAgent ? name : agents.get(parentId ?? ""));
    return Promise.resolve();
  }

  onSpanEnd(span: AgentsSpan): Promise<void> {
    const { select = isAct } = this.#options;
    const agents = this.#agents.get(span.traceId);
    const who = agents?.get(span.spanId);
    agents?.delete(span.spanId);
    if (select(span)) {
      const { type } = span.spanData;
      const when = span.endedAt === null ? undefined : new Date(span.endedAt);
      const what = TYPES.get(type) ?? `openai_agents.${type}`;
      recordEvent(this.#recorder, { content: contentOf(span), what, when, who }, this.#options);
    }
    return Promise.resolve();
  }

  /** Resolves when all that was recorded is anchored and kept. @throws NotFlushed */
  forceFlush(): Promise<void> {
    return this.#recorder.flush();
  }

  /** Does nothing: the recorder is closed by the one who has opened it, and what it has not sent stays in its spool. */
  shutdown(): Promise<void> {
    return Promise.resolve();
  }
}

function isAct({ spanData }: AgentsSpan): boolean {
  return TYPES.has(spanData.type);
}

function contentOf({ traceId, spanId, parentId, startedAt, endedAt, error, spanData }: AgentsSpan): object {
  const hasTook = startedAt !== null && endedAt !== null;
  return {
    ...saidBy(spanData),
    error: error === null ? undefined : { message: error.message, data: (error as Members)["data"] },
    duration_ms: hasTook ? Date.parse(endedAt) - Date.parse(startedAt) : undefined,
    trace_id: traceId,
    span_id: spanId,
    parent_span_id: parentId,
  };
}

function saidBy(spanData: AgentsSpan["spanData"]): object {
  const said = spanData as AgentsSpan["spanData"] & Members;
  switch (said.type) {
    case "function":
      return {
        tool: said["name"],
        arguments: argumentsOf(said["input"]),
        result: said["output"],
        mcp: said["mcp_data"],
      };
    case "handoff":
      return { from_agent: said["from_agent"], to_agent: said["to_agent"] };
    case "guardrail":
      return { guardrail: said["name"], triggered: said["triggered"] };
    default:
      return { data: withoutPrivate(said) };
  }
}

/** The SDK exports no members that begin with `_`, such as the whole answer of a model. */
function withoutPrivate(said: Members): Members {
  return Object.fromEntries(Object.entries(said).filter(([name]) => !name.startsWith("_")));
}

/** A model gives them as JSON; what is none is a text. */
function argumentsOf(given: unknown): unknown {
  if (typeof given !== "string") return given;
  try {
    return JSON.parse(given);
  } catch {
    return given;
  }
}
