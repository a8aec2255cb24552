import type { HandlerAnswer } from "./handler.ts";
import type { Work } from "./request-cost.ts";
import type { Headers } from "./respond.ts";

/** What an answer is on the wire, and what it took. */
export interface MadeAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly mediaType: string;
  readonly body: Uint8Array;
  readonly work: Work;
}

const encoder = new TextEncoder();

/** The body has a buffer of its own, so that it can change threads. */
export function madeAnswer(answer: HandlerAnswer): MadeAnswer {
  const { status, headers = {}, work = {} } = answer;
  const made = { status, headers, work };
  if ("bytes" in answer) return { ...made, mediaType: answer.mediaType, body: answer.bytes };
  if ("text" in answer) return { ...made, mediaType: "text/plain; charset=utf-8", body: encoder.encode(answer.text) };
  return { ...made, mediaType: "application/json; charset=utf-8", body: encoder.encode(JSON.stringify(answer.json)) };
}
