import { getEventListeners } from "node:events";
import { describe, expect, test } from "@jest/globals";
import { LinkedAbort } from "../src/ports/linked-abort.ts";

describe("a linked abort", () => {
  test("comes with the first of the others, and has its reason", () => {
    const [one, other] = [new AbortController(), new AbortController()];
    const linked = new LinkedAbort(one.signal, other.signal);
    expect(linked.signal.aborted).toBe(false);
    other.abort("the node stops");
    one.abort("too late");
    expect([linked.signal.aborted, linked.signal.reason]).toEqual([true, "the node stops"]);
  });

  test("is there at once where another has aborted", () => {
    expect(new LinkedAbort(AbortSignal.abort("gone")).signal.reason).toBe("gone");
  });

  test("comes by itself", () => {
    const other = new AbortController();
    const linked = new LinkedAbort(other.signal);
    linked.abort("late");
    expect([linked.signal.reason, other.signal.aborted]).toEqual(["late", false]);
  });

  test("leaves nothing with the others once it is let go", () => {
    const [one, other] = [new AbortController(), new AbortController()];
    const linked = new LinkedAbort(one.signal, other.signal);
    linked.letGo();
    expect([one, other].map(({ signal }) => getEventListeners(signal, "abort"))).toEqual([[], []]);
    one.abort();
    expect(linked.signal.aborted).toBe(false);
  });
});
