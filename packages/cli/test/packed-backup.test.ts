import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Decrypter, generateX25519Identity, identityToRecipient } from "age-encryption";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { BackupPacker, unpackBackup } from "../src/keeping/packed-backup.ts";
import type { PackedFile } from "../src/keeping/packed-backup.ts";

const ZSTD_MARK = "28b52ffd";

let folder: string;
let identity: string;
let other: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "anchoring-packed-"));
  [identity, other] = await Promise.all([generateX25519Identity(), generateX25519Identity()]);
});

afterAll(() => rmSync(folder, { recursive: true }));

async function pack(name: string, pieces: readonly Uint8Array[], to = [identity]): Promise<PackedFile> {
  const file = await open(join(folder, name), "w");
  try {
    const recipients = await Promise.all(to.map((each) => identityToRecipient(each)));
    const packer = await BackupPacker.begin(recipients, file);
    for (const piece of pieces) await packer.add(piece);
    return await packer.finish();
  } finally {
    await file.close();
  }
}

async function unpack(name: string, with_ = identity): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  await unpackBackup(join(folder, name), [with_], async (piece) => void pieces.push(piece));
  return Buffer.concat(pieces);
}

/** Hashes and rows: half of it can be compressed. */
function likeLeaves(bytes: number): Buffer {
  const all = Buffer.alloc(bytes);
  for (let at = 0; at < bytes; at += 474) randomBytes(237).copy(all, at);
  return all;
}

describe("a packed backup", () => {
  test.each([
    ["nothing", []],
    ["one byte", [Buffer.of(7)]],
    ["many small pieces", Array.from({ length: 3000 }, () => randomBytes(100))],
    ["one large piece that cannot be compressed", [randomBytes(1_500_000)]],
    ["one large piece that is all zeros", [Buffer.alloc(8_000_000)]],
    ["pieces of a megabyte", Array.from({ length: 3 }, () => likeLeaves(1024 * 1024))],
  ])("of %s is unpacked as it was", async (_, pieces) => {
    const { bytes, sha256 } = await pack("round", pieces);
    const onDisk = readFileSync(join(folder, "round"));
    expect([onDisk.length, createHash("sha256").update(onDisk).digest("hex")]).toEqual([bytes, sha256]);
    expect((await unpack("round")).equals(Buffer.concat(pieces))).toBe(true);
  });

  test("is zstd in age, and smaller", async () => {
    const plain = likeLeaves(1_000_000);
    const { bytes } = await pack("format", [plain]);
    expect(bytes).toBeLessThan(0.6 * plain.length);
    const onDisk = readFileSync(join(folder, "format"));
    expect(onDisk.toString("latin1")).toMatch(/^age-encryption\.org\/v1\n/u);
    const decrypter = new Decrypter();
    decrypter.addIdentity(identity);
    const compressed = Buffer.from(await decrypter.decrypt(onDisk));
    expect(compressed.subarray(0, 4).toString("hex")).toBe(ZSTD_MARK);
  });

  test("is read by each of its recipients, and by nobody else", async () => {
    await pack("both", [Buffer.from("to two")], [identity, other]);
    for (const each of [identity, other]) expect((await unpack("both", each)).toString()).toBe("to two");
    await pack("one", [Buffer.from("to one")]);
    await expect(unpack("one", other)).rejects.toMatchObject({ exitCode: 2, code: "not_for_this_key" });
    await expect(unpack("one", "AGE-SECRET-KEY-1")).rejects.toMatchObject({ code: "identity_invalid" });
  });

  test("is refused when it is not as it was written", async () => {
    const path = join(folder, "damaged");
    const { bytes } = await pack("damaged", [likeLeaves(500_000)]);
    const whole = readFileSync(path);
    const damaged: readonly (() => void)[] = [
      ...[30, 300, Math.floor(bytes / 2), bytes - 1].map((at) => () => {
        const flipped = Buffer.from(whole);
        flipped[at] = (flipped[at] ?? 0) ^ 1;
        writeFileSync(path, flipped);
      }),
      ...[bytes - 1, Math.floor(bytes / 2), 100, 0].map((length) => () => {
        writeFileSync(path, whole);
        truncateSync(path, length);
      }),
      () => writeFileSync(path, Buffer.concat([whole, Buffer.of(0)])),
    ];
    for (const damage of damaged) {
      damage();
      await expect(unpack("damaged")).rejects.toMatchObject({ name: "CliError", exitCode: expect.any(Number) });
    }
    await expect(unpack("not there")).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("ends with the file's own error when the disk is full", async () => {
    const full = Object.assign(new Error("no space"), { code: "ENOSPC" });
    const file = { appendFile: () => Promise.reject(full) } as unknown as FileHandle;
    const packer = await BackupPacker.begin([await identityToRecipient(identity)], file);
    const fill = async (): Promise<void> => {
      for (let piece = 0; piece < 64; piece += 1) await packer.add(randomBytes(1024 * 1024));
      await packer.finish();
    };
    await expect(fill()).rejects.toMatchObject({ code: "ENOSPC" });
    await packer.abandon();
    // Which does not keep the next one.
    await pack("after", [Buffer.from("again")]);
    expect((await unpack("after")).toString()).toBe("again");
  });
});
