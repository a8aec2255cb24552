import { execFile } from "node:child_process";
import { getEventListeners } from "node:events";
import { promisify } from "node:util";
import { describe, expect, test } from "@jest/globals";
import { LinkedAbort } from "../src/ports/linked-abort.ts";

const BUILT = new URL("../dist/ports/linked-abort.js", import.meta.url).href;
const run = promisify(execFile);

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

  test("may be one of many that wait for the same end: Node 20 would warn of more than ten", async () => {
    const program = `import { LinkedAbort } from ${JSON.stringify(BUILT)};
      const end = new AbortController();
      const linked = Array.from({ length: 50 }, () => new LinkedAbort(end.signal));
      end.abort();
      console.log(linked.filter(({ signal }) => signal.aborted).length);`;
    const { stdout, stderr } = await run(process.execPath, ["--input-type=module", "-e", program]);
    expect([stdout, stderr]).toEqual(["50\n", ""]);
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
