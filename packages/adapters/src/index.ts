/** Records what frameworks see: each adapter gives a recorder what happens, and needs nothing of the framework. */
export type { AdapterOptions, EventRecorder } from "./adapter.ts";
export { recordRequests } from "./express.ts";
export type { ExpressNext, ExpressOptions, ExpressRequest, ExpressResponse } from "./express.ts";
export { recordCalls, recordTool } from "./mcp.ts";
export type { CalledTool, ToolOptions, ToolParameters } from "./mcp.ts";
export { RecordingSpanProcessor } from "./opentelemetry.ts";
export type { EndedSpan, SpanOptions } from "./opentelemetry.ts";
export { recordingDestination } from "./pino.ts";
export type { LogDestination, LogLine, LogOptions } from "./pino.ts";
