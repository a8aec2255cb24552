/** Server-sent events as bytes: https://html.spec.whatwg.org/multipage/server-sent-events.html */
import type { EndEvent, HeadEvent } from "./answers.ts";

/** Sent first: how long an EventSource waits before it asks again. */
export const RETRY_TEXT = "retry: 1000\n\n";

/** Ignored by readers; keeps proxies from taking a quiet feed for a dead one. */
export const KEEPALIVE_TEXT = ":\n\n";

/** JSON has no line breaks of its own: the data are one line. */
export function headEventText(event: HeadEvent): string {
  return `id: ${event.tree_size}\nevent: head\ndata: ${JSON.stringify(event)}\n\n`;
}

/** Without an id: a reader goes on from the last head. */
export function endEventText(event: EndEvent): string {
  return `event: end\ndata: ${JSON.stringify(event)}\n\n`;
}
