import { expect, test } from "@jest/globals";
import type { ApiKey } from "@event-anchoring/ledger";
import { keyListOf } from "../src/local/key-list.ts";

function apiKey(seed: number, revokedMs = 0): ApiKey {
  return { keyId: new Uint8Array(16).fill(seed), revokedMs } as unknown as ApiKey;
}

test("the key table of a state is one object until a key is added or changed", () => {
  const apiKeys = new Map([["1", apiKey(1)]]);
  const first = keyListOf({ apiKeys });
  expect(keyListOf({ apiKeys })).toBe(first);
  apiKeys.set("2", apiKey(2));
  const second = keyListOf({ apiKeys });
  expect(second).toEqual([apiKey(1), apiKey(2)]);
  expect(keyListOf({ apiKeys })).toBe(second);
  apiKeys.set("1", apiKey(1, 5));
  const third = keyListOf({ apiKeys });
  expect(third).toEqual([apiKey(1, 5), apiKey(2)]);
  expect(third).not.toBe(second);
  // Another life of the node has another state.
  expect(keyListOf({ apiKeys: new Map(apiKeys) })).not.toBe(third);
});
