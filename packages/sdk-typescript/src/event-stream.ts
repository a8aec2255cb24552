/** Server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html */
import { UnexpectedAnswer } from "./errors.ts";

export interface ServerSentEvent {
  readonly type: string;
  readonly text: string;
}

/** A head has a few thousand. */
const EVENT_CHARS_MAX = 256 * 1024;

/**
 * The events in an answer, whatever pieces it comes in. Comments, ids and pauses are left out: a follower goes on from
 * what it has verified, not from what it was told. An event that the end of the answer has cut is none.
 * @throws UnexpectedAnswer for one that is too large
 */
export async function* eventsIn(body: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  let type = "";
  let texts: string[] = [];
  let chars = 0;
  for await (const line of linesIn(body)) {
    if (line === "") {
      if (texts.length > 0) yield { type: type === "" ? "message" : type, text: texts.join("\n") };
      [type, texts, chars] = ["", [], 0];
      continue;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") type = value;
    if (field !== "data") continue;
    texts.push(value);
    chars += value.length;
    if (chars > EVENT_CHARS_MAX) throw tooLarge();
  }
}

/** Lines end in CR, LF, or both. What no end follows is no line. */
async function* linesIn(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let begun = "";
  let endedInCr = false;
  for await (const chunk of body) {
    const decoded = decoder.decode(chunk, { stream: true });
    if (decoded === "") continue;
    const text = endedInCr && decoded.startsWith("\n") ? decoded.slice(1) : decoded;
    endedInCr = decoded.endsWith("\r");
    const lines = (begun + text).split(/\r\n|\r|\n/);
    begun = lines.pop() ?? "";
    yield* lines;
    if (begun.length > EVENT_CHARS_MAX) throw tooLarge();
  }
}

function tooLarge(): UnexpectedAnswer {
  return new UnexpectedAnswer(`an event of more than ${EVENT_CHARS_MAX} characters`);
}
