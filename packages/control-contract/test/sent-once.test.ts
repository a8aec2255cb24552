import { describe, expect, test } from "@jest/globals";
import { DecodeError, ORIGINS_MAX, toAnchorId, toOriginFingerprint } from "@event-anchoring/protocol";
import { LOCAL_FRAME_BYTES_MAX, LocalResponseReader, LocalResponseWriter } from "../src/index.ts";
import type { CallerKey, LatestAnchor, LocalResponse, ShownCertificate } from "../src/index.ts";
import { callerKey, callerKeys, certificate, hash, latest, otherCertificate } from "./fixtures.ts";

function submitted(requestId: number, shown: readonly ShownCertificate[]): LocalResponse {
  const records = shown.map((head, at) => ({
    status: "accepted" as const,
    leaf: new Uint8Array(371).fill(at),
    anchorId: toAnchorId(hash(`anchor ${at}`)),
    inclusion: { certificate: head, path: [hash("p"), hash("q")] },
    clientEventSalt: null,
  }));
  return { type: "submitted", requestId, finality: "certified", outcome: { kind: "records", refused: false, records } };
}

function ready(certificates: readonly ShownCertificate[]): LocalResponse {
  return { type: "ready_to_read", requestId: 9, readIndex: 5, certificates, trustRootVersion: 3, latest: null };
}

function certificatesIn(response: LocalResponse | null): readonly ShownCertificate[] {
  if (response?.type === "ready_to_read") return response.certificates;
  if (response?.type !== "submitted" || response.outcome.kind !== "records") return [];
  return response.outcome.records.flatMap((record) =>
    record.status === "accepted" && record.inclusion !== null ? [record.inclusion.certificate] : [],
  );
}

function grown(before: ShownCertificate): ShownCertificate {
  return { ...before, treeSize: before.treeSize + 1, checkpoint: `${before.checkpoint}\u00e9` };
}

function originOf(at: number): ShownCertificate {
  return { ...certificate, originFingerprint: toOriginFingerprint(hash(`origin ${at}`)) };
}

/** Both ends of one connection. */
class Link {
  readonly writer = new LocalResponseWriter();
  readonly reader = new LocalResponseReader();
  /** Bytes of each frame. */
  readonly frames: number[] = [];

  answer(response: LocalResponse): LocalResponse | null {
    let last: LocalResponse | null = null;
    for (const body of this.writer.bodiesOf(response)) {
      this.frames.push(body.length);
      last = this.reader.read(body);
    }
    return last;
  }
}

describe("a certificate on the local link", () => {
  test("is sent once, before the first answer under it, and is one object for all of them", () => {
    const link = new Link();
    const answers = [submitted(1, [certificate, certificate]), submitted(2, [certificate]), ready([certificate])];
    const read = answers.map((answer) => link.answer(answer));
    expect(read).toEqual(answers);
    const shown = read.flatMap(certificatesIn);
    expect(shown).toHaveLength(4);
    expect(new Set(shown).size).toBe(1);
    expect(link.frames).toHaveLength(answers.length + 1);
    // An answer is a leaf, its id and its path; the checkpoint is in none of them.
    expect(link.frames[2]).toBeLessThan(371 + 32 + 2 * 32 + 40);
  });

  test("of one origin takes the place of the one before it, and of no other origin", () => {
    const link = new Link();
    const newer = grown(certificate);
    for (const answer of [ready([certificate, otherCertificate]), ready([newer, otherCertificate]), ready([newer])]) {
      expect(link.answer(answer)).toEqual(answer);
    }
    expect(link.frames).toHaveLength(3 + 3);
  });

  test("that is named again after a newer one of its origin is sent again", () => {
    const link = new Link();
    const newer = grown(certificate);
    for (const shown of [certificate, newer, certificate, newer]) {
      expect(link.answer(submitted(1, [shown]))).toEqual(submitted(1, [shown]));
    }
    expect(link.frames).toHaveLength(4 + 4);
  });

  test("is found at each of 1,024 origins at once", () => {
    const link = new Link();
    const all = ready(Array.from({ length: ORIGINS_MAX }, (_unused, at) => originOf(at)));
    expect(link.answer(all)).toEqual(all);
    expect(link.answer(all)).toEqual(all);
    expect(link.frames).toHaveLength(ORIGINS_MAX + 2);
  });

  test("is not known on another connection", () => {
    const link = new Link();
    link.answer(ready([certificate]));
    const [again = new Uint8Array(0)] = link.writer.bodiesOf(ready([certificate]));
    expect(() => new LocalResponseReader().read(again)).toThrow(DecodeError);
  });
});

describe("the latest anchor of an origin", () => {
  const read = (shown: LatestAnchor): LocalResponse =>
    ({ ...ready([shown.certificate]), latest: shown }) as LocalResponse;
  const latestIn = (response: LocalResponse | null): LatestAnchor | null =>
    response?.type === "ready_to_read" ? response.latest : null;

  test("is sent once, and is one object for all answers", () => {
    const link = new Link();
    const answers = [link.answer(read(latest)), link.answer(read(latest)), link.answer(read(latest))];
    expect(answers).toEqual([read(latest), read(latest), read(latest)]);
    expect(new Set(answers.map(latestIn)).size).toBe(1);
    expect(link.frames).toHaveLength(2 + 3);
    expect(link.frames.at(-1)).toBeLessThan(50);
  });

  test("goes behind its certificate, also when that is new", () => {
    const link = new Link();
    link.answer(read(latest));
    const next = { ...latest, certificate: grown(certificate), clientEvent: null };
    expect(link.answer(read(next))).toEqual(read(next));
    expect(link.frames).toHaveLength(3 + 3);
  });

  test("is another one once its client event id is erased", () => {
    const link = new Link();
    const { apiClientId = new Uint8Array(16) } = latest.clientEvent ?? {};
    const erased = { ...latest, clientEvent: { apiClientId, clientEventId: null, salt: null } };
    const [before, after] = [link.answer(read(latest)), link.answer(read(erased))].map(latestIn);
    expect(after).toEqual(erased);
    expect(after).not.toBe(before);
    expect(after?.certificate).toBe(before?.certificate);
  });
});

describe("the key table", () => {
  const table = (keys: readonly CallerKey[]): LocalResponse => ({ type: "api_keys", requestId: 3, keys });
  const keysIn = (response: LocalResponse | null): readonly CallerKey[] =>
    response?.type === "api_keys" ? response.keys : [];

  test("is sent when it has changed, and is the same object until then", () => {
    const link = new Link();
    const first = [1, 2].map(callerKey);
    const second = [1, 2, 3].map(callerKey);
    const lists = [first, first, second, second, first].map((keys) => keysIn(link.answer(table(keys))));
    expect(lists).toEqual([first, first, second, second, first]);
    expect(lists[1]).toBe(lists[0]);
    expect(lists[3]).toBe(lists[2]);
    expect(link.frames).toHaveLength(3 + 5);
  });

  test("may be empty", () => {
    const link = new Link();
    expect(link.answer(table([]))).toEqual(table([]));
  });

  test("of 100,001 keys comes in three frames, each short enough for the link", () => {
    const link = new Link();
    const one = callerKey(1);
    const keys = Array.from({ length: 100_001 }, () => one);
    const received = keysIn(link.answer(table(keys)));
    expect(received).toHaveLength(keys.length);
    expect(received.at(-1)).toEqual(one);
    expect(link.frames).toHaveLength(3 + 1);
    expect(Math.max(...link.frames)).toBeLessThan(LOCAL_FRAME_BYTES_MAX);
  });
});

describe("a writer refuses", () => {
  test("an answer under two certificates of one origin: the first is gone when it is read", () => {
    const { writer } = new Link();
    expect(() => writer.bodiesOf(submitted(1, [certificate, grown(certificate)]))).toThrow(RangeError);
  });

  test("certificates of more origins than a trust root lists", () => {
    const { writer } = new Link();
    for (let at = 0; at < ORIGINS_MAX; at++) writer.bodiesOf(ready([originOf(at)]));
    expect(() => writer.bodiesOf(ready([originOf(ORIGINS_MAX)]))).toThrow(RangeError);
  });
});

describe("a reader refuses", () => {
  const frames = new LocalResponseWriter().bodiesOf(ready([certificate, otherCertificate]));
  const [first, second, answer] = frames as [Uint8Array, Uint8Array, Uint8Array];
  const replaced = new LocalResponseWriter();
  const [old, oldAnswer] = replaced.bodiesOf(ready([certificate])) as [Uint8Array, Uint8Array];
  const [newer] = replaced.bodiesOf(ready([grown(certificate)])) as [Uint8Array];

  const [, shown, latestAnswer] = new LocalResponseWriter().bodiesOf({
    ...ready([certificate]),
    latest,
  } as LocalResponse) as [Uint8Array, Uint8Array, Uint8Array];

  const list: LocalResponse = { type: "api_keys", requestId: 1, keys: callerKeys };
  const [keys, keyAnswer] = new LocalResponseWriter().bodiesOf(list) as [Uint8Array, Uint8Array];
  /** It says that more follow. */
  const half = without(1);

  function without(at: number): Uint8Array {
    const changed = Uint8Array.from(keys);
    changed[at] = 0;
    return changed;
  }

  test.each<[string, readonly Uint8Array[], Uint8Array]>([
    ["a key table that was not sent", [], keyAnswer],
    ["half a key table", [half], keyAnswer],
    ["half a key table after a whole one", [keys, half], keyAnswer],
    ["half a key", [], keys.subarray(0, 40)],
    ["a key table with bytes after it", [], Uint8Array.of(...keys, 0)],
    ["a key without scopes", [], without(6 + 48)],
    ["a latest anchor before its certificate", [], shown],
    ["a latest anchor twice", [first, shown], shown],
    ["a latest anchor with bytes after it", [first], Uint8Array.of(...shown, 0)],
    ["half a latest anchor", [first], shown.subarray(0, 90)],
    ["an answer before its latest anchor", [first], latestAnswer],
    ["an answer before its certificate", [first], answer],
    ["a certificate out of turn", [], second],
    ["a certificate twice", [first], first],
    ["a certificate that a newer one has replaced", [old, newer], oldAnswer],
    ["a certificate with bytes after it", [], Uint8Array.of(...first, 0)],
    ["half a certificate", [], first.subarray(0, 60)],
    ["a certificate without an id", [], Uint8Array.of(7)],
  ])("%s", (_what, before, frame) => {
    const reader = new LocalResponseReader();
    for (const body of before) expect(reader.read(body)).toBeNull();
    expect(() => reader.read(frame)).toThrow(DecodeError);
  });

  test("certificates of more origins than a trust root lists, so that they never fill its memory", () => {
    const reader = new LocalResponseReader();
    const writer = new LocalResponseWriter();
    for (let at = 0; at < ORIGINS_MAX; at++)
      for (const body of writer.bodiesOf(ready([originOf(at)]))) reader.read(body);
    const [frame = new Uint8Array(0)] = new LocalResponseWriter().bodiesOf(ready([originOf(ORIGINS_MAX)]));
    // The id of a certificate is the u64 after the kind.
    const next = Uint8Array.from(frame);
    new DataView(next.buffer).setBigUint64(1, BigInt(ORIGINS_MAX + 1));
    expect(() => reader.read(next)).toThrow(DecodeError);
  });

  test("a path of 54 hashes", () => {
    const link = new Link();
    link.answer(ready([certificate]));
    const [record] = (submitted(1, [certificate]) as { outcome: { records: readonly object[] } }).outcome.records;
    const inclusion = { certificate, path: Array.from({ length: 54 }, () => hash("p")) };
    const outcome = { kind: "records", refused: false, records: [{ ...record, inclusion }] };
    const long = { type: "submitted", requestId: 1, finality: "certified", outcome } as LocalResponse;
    expect(() => link.answer(long)).toThrow(DecodeError);
  });
});
