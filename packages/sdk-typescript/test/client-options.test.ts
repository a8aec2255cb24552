import { expect, test } from "@jest/globals";
import { Client, ConnectionFailed, TransportFailure } from "../src/index.ts";

test.each([
  ["endPoint", "did you mean endpoint?"],
  ["endpint", "did you mean endpoint?"],
  ["apikey", "did you mean apiKey?"],
  ["colour", "there is no such option"],
])("a misspelt option is named: %s", (name, message) => {
  expect(() => new Client({ endpoint: "https://a", [name]: "x" })).toThrow(`${name}: ${message}`);
});

test("an error of a connection names the endpoint", async () => {
  const transport = (): Promise<never> =>
    Promise.reject(new TransportFailure("unreachable", "ENOTFOUND", { wasSent: false }));
  const client = new Client({ endpoint: "https://a.example", transport, retry: { attemptsMax: 1 } });
  const error: unknown = await client.healthz().catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(ConnectionFailed);
  expect(String(error)).toContain("one try, of https://a.example");
});
