/** A node's key as a witness of other logs, and the file of what is promised under it: made together, lost together. */
import { dirname, join } from "node:path";
import { formatWitnessPromises } from "@event-anchoring/control-contract";
import { createSigner, generateSeed, nodeCrypto } from "@event-anchoring/node-crypto";
import { NoteError, VKEY_TYPE, makeVkey } from "@event-anchoring/protocol";
import type { Vkey } from "@event-anchoring/protocol";
import { PrivateFileError, fileExists, makePrivateDirectory, writePrivateFile, writeSeed } from "./files.ts";

/**
 * Draws the key, and makes the empty file of promises. A node never makes that file: a key whose file is gone has
 * forgotten what it signed.
 * @param witness.name of the key, such as `witness.example/n1`
 * @param witness.promiseFile on another volume than Postgres
 * @throws PrivateFileError `exists`: neither is ever overwritten; RangeError for a name that no key may have
 */
export async function prepareWitness(witness: {
  readonly identityDir: string;
  readonly name: string;
  readonly promiseFile: string;
}): Promise<Vkey> {
  const { identityDir, name, promiseFile } = witness;
  const keyFile = join(identityDir, "witness.key");
  for (const path of [keyFile, promiseFile]) {
    if (await fileExists(path))
      throw new PrivateFileError("exists", path, "a witness is never made anew under its key");
  }
  const seed = generateSeed();
  const vkey = vkeyOf(name, createSigner(seed).publicKey);
  if (!(await fileExists(dirname(promiseFile)))) await makePrivateDirectory(dirname(promiseFile));
  // A file without its key is refused at the start, and so is a key without its file.
  await writePrivateFile(promiseFile, formatWitnessPromises({ vkey, isSpent: false, heads: new Map() }));
  await writeSeed(keyFile, seed);
  return vkey;
}

function vkeyOf(name: string, publicKey: Uint8Array): Vkey {
  try {
    return makeVkey(name, VKEY_TYPE.cosignature, publicKey, nodeCrypto.sha256);
  } catch (cause) {
    if (cause instanceof NoteError) throw new RangeError(`not the name of a key: ${name}`, { cause });
    throw cause;
  }
}
