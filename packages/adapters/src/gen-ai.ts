/** What spans and logs of OpenTelemetry say of agents: the GenAI conventions, and what their events refer to. */
import type { ReadEvent } from "./adapter.ts";

/** Seconds and nanoseconds. */
export type Instant = readonly [number, number];
export type Attributes = Readonly<Record<string, unknown>>;

const OPERATION = "gen_ai.operation.name";
const EXECUTE_TOOL = "execute_tool";
const AGENT_NAMES = ["gen_ai.agent.name", "gen_ai.agent.id"] as const;
/** Attributes by which it is said what an event refers to, as 64 hex digits. */
const IRIS_REF = "event_anchoring.iris_ref";
const GRANT_REF = "event_anchoring.grant_ref";

export function isOfGenAi(attributes: Attributes): boolean {
  return typeof attributes[OPERATION] === "string";
}

/** `tool.call`, or `gen_ai.<operation>`. Undefined: it is no operation of the conventions. */
export function operationOf(attributes: Attributes): string | undefined {
  const operation = textOf(attributes, OPERATION);
  if (operation === undefined) return undefined;
  return operation === EXECUTE_TOOL ? "tool.call" : `gen_ai.${operation}`;
}

/** The agent. Undefined: it is not said. */
export function whoOf(attributes: Attributes): string | undefined {
  return AGENT_NAMES.map((name) => textOf(attributes, name)).find((name) => name !== undefined);
}

type References = ReadEvent["semanticAnchor"];

/** What the attributes name, beside what all events refer to. Undefined: they name nothing. */
export function referencesOf(attributes: Attributes, usual: References): References {
  const [irisRef, grantRef] = [textOf(attributes, IRIS_REF), textOf(attributes, GRANT_REF)];
  if (irisRef === undefined && grantRef === undefined) return undefined;
  return { ...usual, ...(irisRef === undefined ? {} : { irisRef }), ...(grantRef === undefined ? {} : { grantRef }) };
}

/** Whole ones: a day of nanoseconds is more than a double holds to the last digit. */
export function millisecondsOf([seconds, nanoseconds]: Instant): number {
  return seconds * 1_000 + Math.round(nanoseconds / 1e6);
}

function textOf(attributes: Attributes, name: string): string | undefined {
  const value = attributes[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}
