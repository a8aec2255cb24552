/** What receivers are told: signed as Standard Webhooks has it, at least once, and only where the operator said. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import { Webhook } from "standardwebhooks";
import { WebhookQueue } from "../src/monitor/webhook-queue.ts";
import { readWebhookKeys, webhookHeaders } from "../src/monitor/webhook-signature.ts";
import { Webhooks, webhookUrlOf } from "../src/monitor/webhooks.ts";
import type { WebhookEvent } from "../src/monitor/webhooks.ts";
import { WebhookReceiver } from "./webhook-receiver.ts";

const SECRET = `whsec_${Buffer.alloc(24, 7).toString("base64")}`;
const OLD_SECRET = `whsec_${Buffer.alloc(32, 8).toString("base64")}`;
const SEED = new Uint8Array(32).fill(9);

let folder: string;
let receiver: WebhookReceiver;
let nowMs: number;
let said: string[];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "anchorctl-webhooks-"));
  receiver = await WebhookReceiver.start();
  // The library refuses what is older than five minutes.
  nowMs = Date.now();
  said = [];
});

afterEach(() => {
  receiver.stop();
  rmSync(folder, { recursive: true, force: true });
});

const path = (): string => join(folder, "state.webhooks");

function webhooksOf(urls: readonly string[] = [receiver.url]): Webhooks {
  const say = (text: string): void => void said.push(text);
  const keys = readWebhookKeys(SECRET);
  return new Webhooks({ urls, keys, queue: new WebhookQueue(path()), now: () => nowMs, chance: () => 1, say });
}

const event = (id: string, subject: string | null = null): WebhookEvent => {
  const type = subject === null ? "log.alarm" : "log.head";
  return { id, type, timestamp: "2026-11-23T05:00:00.000Z", subject, content: { id } };
};

const ids = (): unknown[] => receiver.received.map(({ headers }) => headers["webhook-id"]);

describe("a signature", () => {
  test("is good for the library of the standard, by each of two keys", () => {
    const keys = readWebhookKeys(`${SECRET}\n${OLD_SECRET}\n\n`);
    const body = JSON.stringify({ type: "log.alarm", data: { detail: "a tree of 5 leaves was seen — now 4" } });
    const headers = webhookHeaders(keys, { id: "alarm_1", body, timestampS: Math.floor(Date.now() / 1000) });
    for (const secret of [SECRET, OLD_SECRET]) {
      expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body));
      expect(() => new Webhook(secret).verify(`${body} `, headers)).toThrow("No matching signature found");
      expect(() => new Webhook(secret).verify(body, { ...headers, "webhook-id": "alarm_2" })).toThrow("No matching");
    }
    expect(new Webhook(SECRET).sign("alarm_1", new Date(Number(headers["webhook-timestamp"]) * 1000), body)).toBe(
      headers["webhook-signature"]?.split(" ")[0],
    );
  });

  test("by an Ed25519 key is one over the same bytes", () => {
    const { publicKey } = createSigner(SEED);
    for (const pair of [SEED, Buffer.concat([SEED, publicKey])]) {
      const keys = readWebhookKeys(`whsk_${Buffer.from(pair).toString("base64")}`);
      const { "webhook-signature": text = "" } = webhookHeaders(keys, { id: "a", body: "{}", timestampS: 5 });
      const [version, signature = ""] = text.split(",");
      const signed = new TextEncoder().encode("a.5.{}");
      expect(version).toBe("v1a");
      expect(nodeCrypto.ed25519Verify(publicKey, signed, Uint8Array.from(Buffer.from(signature, "base64")))).toBe(true);
    }
  });

  test.each(["", "whsec_", "whsec_c2hvcnQ=", "secret", "whsk_AAAA", `${SECRET}\nwhsec_!`])("not by: %s", (text) => {
    expect(() => readWebhookKeys(text)).toThrow("a webhook key is");
  });
});

describe("delivery", () => {
  test("ends when a receiver has taken it, and is verified there", async () => {
    const webhooks = webhooksOf();
    webhooks.add(event("alarm_1"));
    await webhooks.deliver();
    const [taken] = receiver.received;
    const verified = new Webhook(SECRET).verify(taken?.body ?? "", taken?.headers as Record<string, string>);
    expect(verified).toEqual({ type: "log.alarm", timestamp: "2026-11-23T05:00:00.000Z", data: { id: "alarm_1" } });
    await webhooks.deliver();
    expect([ids(), webhooks.waitingCount]).toEqual([["alarm_1"], 0]);
  });

  test("is tried again after growing pauses, also by the next process, under the same id", async () => {
    receiver.status = 503;
    webhooksOf().add(event("alarm_1"));
    for (const pauseMs of [5000, 20_000, 80_000]) {
      const webhooks = webhooksOf();
      await webhooks.deliver();
      nowMs += pauseMs - 1;
      await webhooks.deliver();
      nowMs += 1;
    }
    receiver.status = 200;
    await webhooksOf().deliver();
    expect(ids()).toEqual(["alarm_1", "alarm_1", "alarm_1", "alarm_1"]);
    expect(new Set(receiver.received.map(({ headers }) => headers["webhook-timestamp"])).size).toBeGreaterThan(2);
    expect(webhooksOf().waitingCount).toBe(0);
    expect(said[0]).toContain("did not take alarm_1 (status 503); again in 5 s");
  });

  test("waits as long as the receiver asks, and follows no redirect", async () => {
    const webhooks = webhooksOf();
    const elsewhere = await WebhookReceiver.start();
    [receiver.status, receiver.headers] = [307, { location: elsewhere.url, "retry-after": "60" }];
    webhooks.add(event("alarm_1"));
    await webhooks.deliver();
    nowMs += 59_000;
    await webhooks.deliver();
    expect([ids(), elsewhere.received]).toEqual([["alarm_1"], []]);
    nowMs += 1000;
    await webhooks.deliver();
    expect(ids()).toEqual(["alarm_1", "alarm_1"]);
    elsewhere.stop();
  });

  test("of one receiver does not wait for another that is gone; 410 ends it", async () => {
    const gone = await WebhookReceiver.start();
    const { url } = gone;
    gone.stop();
    const webhooks = webhooksOf([url, receiver.url]);
    receiver.status = 410;
    webhooks.add(event("alarm_1"));
    await webhooks.deliver();
    webhooks.add(event("alarm_2"));
    await webhooks.deliver();
    expect(ids()).toEqual(["alarm_1"]);
    expect(webhooks.waitingCount).toBe(2);
  });

  test("of heads is of the newest one; alarms are kept, within a bound", async () => {
    receiver.status = 500;
    const webhooks = webhooksOf();
    for (let size = 1; size <= 5; size++) webhooks.add(event(`head_${size}`, "head o"));
    webhooks.add(event("alarm_1"));
    webhooks.add(event("alarm_1"));
    expect(new WebhookQueue(path()).waiting.map(({ id }) => id)).toEqual(["head_5", "alarm_1"]);
    const queue = new WebhookQueue(path());
    const waiting = { url: receiver.url, type: "log.alarm" as const, subject: null, body: "{}", attempts: 0, dueMs: 0 };
    const taken = Array.from({ length: 1001 }, (_, at) => queue.add({ ...waiting, id: `alarm_x${at}` }));
    expect([taken.filter(Boolean).length, queue.waiting.length]).toEqual([999, 1000]);
    expect(queue.waiting.some(({ id }) => id === "head_5")).toBe(false);
  });

  test("is of an alarm first, and revocations leave room for it", async () => {
    const webhooks = webhooksOf();
    for (let at = 0; at < 500; at++) {
      expect(webhooks.hasRoom).toBe(true);
      webhooks.add({ ...event(`revocation_${at}`), type: "log.revocation" });
    }
    expect(webhooks.hasRoom).toBe(false);
    webhooks.add(event("alarm_1"));
    await webhooks.deliver();
    await webhooks.deliver();
    expect([ids(), webhooks.waitingCount]).toEqual([["alarm_1", "revocation_0"], 499]);
  });

  test("does not begin from a damaged file", () => {
    for (const text of ["", "{", "[]", '{"format":"anchorctl/webhooks/v1","waiting":[{}]}']) {
      writeFileSync(path(), text);
      expect(() => new WebhookQueue(path())).toThrow();
      expect(readFileSync(path(), "utf8")).toBe(text);
    }
  });

  test.each(["http://internal.example/", "ftp://a.example", "a.example", ""])("is not to %s", (url) => {
    expect(() => webhookUrlOf(url)).toThrow("--webhook takes an https address");
    expect(webhookUrlOf("https://a.example/hook")).toBe("https://a.example/hook");
  });
});
