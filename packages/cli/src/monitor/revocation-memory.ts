/** How far leaves were read for revocations, and what named entities depend on: a file that is replaced as a whole. */
import { readFileSync } from "node:fs";
import { bytesToHex, hexToBytes } from "@event-anchoring/protocol";
import type { Frontier } from "@event-anchoring/protocol";
import { UnexpectedAnswer, readers } from "@event-anchoring/sdk";
import { isRecord } from "../files/nearest-cluster.ts";
import { asCliError, writeDurably } from "../files/read-input.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { EntityRecords } from "./entity-records.ts";

const FORMAT = "anchorctl/revocations/v1";

/** Where reading goes on. */
export interface Reading {
  readonly records: EntityRecords;
  /** By origin: the tree that was read. */
  readonly frontiers: ReadonlyMap<string, Frontier>;
  /** All leaves with a lower sequence were read. */
  readonly nextSequence: number;
  /** An earlier run has met leaves up to this one: a lower sequence that is still missing will not come. */
  readonly metBelow: number;
}

const { count, hex32, listOf, nullable, oneOf, record, text } = readers;
const readKept = record({
  format: oneOf([FORMAT]),
  entities: listOf(hex32),
  nextSequence: count,
  metBelow: count,
  origins: listOf(record({ originFingerprint: hex32, treeSize: count, hashes: listOf(hex32) })),
  claims: listOf(record({ anchorId: hex32, pair: text })),
  grants: listOf(record({ anchorId: hex32, grantor: text, grantee: text, parent: nullable(hex32) })),
});

export class RevocationMemory {
  readonly #path: string;
  readonly #entities: ReadonlySet<string>;

  constructor(path: string, entities: ReadonlySet<string>) {
    this.#path = path;
    this.#entities = entities;
  }

  /** An entity that is new has claims that were passed over: reading begins anew. @throws CliError `state_malformed` */
  load(): Reading {
    const records = new EntityRecords(this.#entities);
    const kept = this.#read();
    const known = new Set(kept?.entities);
    if (kept === null || ![...this.#entities].every((entity) => known.has(entity))) {
      return { records, frontiers: new Map(), nextSequence: 0, metBelow: 0 };
    }
    for (const { anchorId, pair } of kept.claims) records.addClaim(anchorId, pair);
    for (const { anchorId, ...link } of kept.grants) records.addGrant(anchorId, link);
    const frontiers = kept.origins.map(({ originFingerprint, treeSize: size, hashes }): [string, Frontier] => {
      return [originFingerprint, { size, hashes: hashes.map((hash) => hexToBytes(hash, 32)) }];
    });
    const { nextSequence, metBelow } = kept;
    return { records, frontiers: new Map(frontiers), nextSequence, metBelow };
  }

  /** @throws CliError `cannot_write` */
  save({ records, frontiers, nextSequence, metBelow }: Reading): void {
    const kept = {
      format: FORMAT,
      entities: [...this.#entities],
      next_sequence: nextSequence,
      met_below: metBelow,
      origins: [...frontiers].map(([origin, { size, hashes }]) => {
        return { origin_fingerprint: origin, tree_size: size, hashes: hashes.map(bytesToHex) };
      }),
      claims: [...records.claims].map(([anchorId, pair]) => ({ anchor_id: anchorId, pair })),
      grants: [...records.grants].map(([anchorId, link]) => ({ anchor_id: anchorId, ...link })),
    };
    writeDurably(this.#path, JSON.stringify(kept));
  }

  #read(): ReturnType<typeof readKept> | null {
    try {
      return readKept(JSON.parse(readFileSync(this.#path, "utf8")), "the file");
    } catch (error) {
      if (isRecord(error) && error["code"] === "ENOENT") return null;
      if (!(error instanceof UnexpectedAnswer || error instanceof SyntaxError))
        throw asCliError(this.#path, "read", error);
      const message = `${this.#path} does not hold how far leaves were read: ${error.message}`;
      throw new CliError(EXIT.usage, "state_malformed", message);
    }
  }
}
