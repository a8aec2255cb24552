import { recordEvent } from "./adapter.ts";
import type { AdapterOptions, EventRecorder } from "./adapter.ts";

/** A call of a tool that has ended. */
export interface CalledTool {
  readonly tool: string;
  readonly arguments: unknown;
  /** What the tool has given back; undefined: it has thrown. */
  readonly result?: unknown;
  /** Message of what it has thrown. */
  readonly error?: string | undefined;
  readonly duration_ms: number;
}

export interface ToolOptions extends AdapterOptions {
  /** Type of the events. Default: `tool.call`. */
  readonly what?: string | undefined;
  /** What is recorded of a call. Default: all of it. */
  readonly content?: ((call: CalledTool) => object) | undefined;
}

/** What a client of MCP gives to `callTool`. */
export interface ToolParameters {
  readonly name: string;
  readonly arguments?: unknown;
}

/**
 * Wraps the callback of a tool of an MCP server: each call becomes an event when it has ended, with its arguments and
 * its result, or its error.
 *
 *     server.registerTool("refund", config, recordTool(recorder, "refund", callback));
 */
export function recordTool<Args extends readonly unknown[], Result>(
  recorder: EventRecorder,
  tool: string,
  callback: (...args: Args) => Result | Promise<Result>,
  options: ToolOptions = {},
): (...args: Args) => Promise<Result> {
  return (...args) => {
    // A tool without an input schema gets one argument, which is about the request.
    const given = args.length > 1 ? args[0] : {};
    return recorded(recorder, { tool, arguments: given }, () => callback(...args), options);
  };
}

/**
 * The same for the other side: wraps `callTool` of an MCP client.
 *
 *     const callTool = recordCalls(recorder, client.callTool.bind(client));
 */
export function recordCalls<Parameters extends ToolParameters, Others extends readonly unknown[], Result>(
  recorder: EventRecorder,
  callTool: (parameters: Parameters, ...others: Others) => Promise<Result>,
  options: ToolOptions = {},
): (parameters: Parameters, ...others: Others) => Promise<Result> {
  return (parameters, ...others) => {
    const call = { tool: parameters.name, arguments: parameters.arguments ?? {} };
    return recorded(recorder, call, () => callTool(parameters, ...others), options);
  };
}

/** @throws what the tool throws */
async function recorded<Result>(
  recorder: EventRecorder,
  begun: Pick<CalledTool, "tool" | "arguments">,
  run: () => Result | Promise<Result>,
  options: ToolOptions,
): Promise<Result> {
  const { what = "tool.call", content = (call) => call } = options;
  const [when, begunMs] = [new Date(), performance.now()];
  const record = (outcome: Pick<CalledTool, "result" | "error">): void => {
    const call = { ...begun, ...outcome, duration_ms: Math.round(performance.now() - begunMs) };
    recordEvent(recorder, { content: content(call), what, when }, options);
  };
  let result: Result;
  try {
    result = await run();
  } catch (error) {
    record({ error: error instanceof Error ? error.message : String(error) });
    throw error;
  }
  record({ result });
  return result;
}
