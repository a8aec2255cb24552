import type { HandlerAnswer } from "./handler.ts";
import type { Headers } from "./respond.ts";

/** What an answer is on the wire. */
export interface MadeAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly mediaType: string;
  readonly body: Uint8Array;
}

const encoder = new TextEncoder();

/** The body has a buffer of its own, so that it can change threads. */
export function madeAnswer(answer: HandlerAnswer): MadeAnswer {
  const { status, headers = {} } = answer;
  const made = { status, headers };
  if ("bytes" in answer) return { ...made, mediaType: answer.mediaType, body: answer.bytes };
  if ("text" in answer) return { ...made, mediaType: "text/plain; charset=utf-8", body: encoder.encode(answer.text) };
  return { ...made, mediaType: "application/json; charset=utf-8", body: encoder.encode(JSON.stringify(answer.json)) };
}
