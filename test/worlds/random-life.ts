/** Random lives of a ledger, each a function of its seed. */
import { bytesToHex, toOriginFingerprint } from "@event-anchoring/protocol";
import type { Certificate, Command, Entry, EventInput, LeafWrite, ProposalGroup } from "@event-anchoring/ledger";
import type { RecordEnds } from "@event-anchoring/records";
import { GENESIS_DOCUMENT, NODE_A, NODE_B, NODE_C, NODE_D, certify, hash, successor } from "./cluster.ts";
import { NEXT_RULES, CREATE_KEY, CREDENTIAL, credentialOf, event, keyCommand, record } from "./ledger-harness.ts";
import type { LedgerHarness } from "./ledger-harness.ts";
import { claim, grant, operatorRevocation, person, revocation, signedEvent } from "./signed-records.ts";
import type { Party } from "./signed-records.ts";

type Random = (below: number) => number;

/** mulberry32: small, and the same everywhere. */
export function randomOf(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const NODES = [NODE_A, NODE_B, NODE_C, NODE_D];
const NAMES = ["alice", "bob", "carol", "dave", "erin"];
const ISSUERS = ["issuer", "issuer", "issuer", "other issuer"];
export const VERSION_2 = successor([
  { node: NODE_A },
  { node: NODE_B },
  { node: NODE_C, origin: "closed" },
  { node: NODE_D },
]);

/** The entry of this step raises the rules to the newest. */
export const RAISE_STEP = 60;

/** Makes entries of every sort, good and bad, under the first rules and then under the newest. */
export class RandomLife {
  readonly #random: Random;
  readonly #ledger: LedgerHarness;
  #groups: ProposalGroup[] = [];

  constructor(seed: number, ledger: LedgerHarness) {
    this.#random = randomOf(seed);
    this.#ledger = ledger;
  }

  #pick<Item>(items: readonly Item[]): Item {
    const item = items[this.#random(items.length)];
    if (item === undefined) throw new RangeError("nothing to pick from");
    return item;
  }

  /** One time in so many. */
  #rarely(times: number): boolean {
    return this.#random(times) === 0;
  }

  #origin(): EventInput["originFingerprint"] {
    const at = this.#random(30);
    return NODES[at % 4]?.originFingerprint ?? toOriginFingerprint(hash("none"));
  }

  /** Where claims and grants go: mostly somewhere that takes them. */
  #recordOrigin(): EventInput["originFingerprint"] {
    return this.#rarely(8) ? this.#origin() : this.#pick([NODE_A, NODE_B]).originFingerprint;
  }

  /** One of these claims or grants, mostly one that has not ended; now and then none. */
  #leafOf(records: ReadonlyMap<number, RecordEnds>): LeafWrite | null {
    const all = [...records.keys()];
    const standing = [...records].flatMap(([sequence, { supersededAt, revokedAt }]) =>
      supersededAt === null && revokedAt === null ? [sequence] : [],
    );
    const known = this.#rarely(6) ? all : standing;
    return this.#ledger.tables.leaves[known[this.#random(known.length + 1)] ?? -1] ?? null;
  }

  #event(): EventInput {
    const name = `e${this.#random(200)}`;
    const { leaves, records } = this.#ledger.tables;
    const target = leaves[this.#random(leaves.length + 2)]?.anchorId ?? hash("missing");
    const plain = event(name).semanticAnchor;
    const irisRef = this.#leafOf(records.claims)?.anchorId ?? plain.irisRef;
    const grantRef = this.#leafOf(records.grants)?.anchorId ?? plain.grantRef;
    const referring = { ...plain, irisRef, grantRef, scrollRef: target, eventDataHash: hash(name) };
    const semanticAnchor = this.#rarely(4) ? referring : plain;
    const clientEventId = this.#rarely(3) ? `id${this.#random(60)}` : null;
    const more = { originFingerprint: this.#origin(), semanticAnchor, clientEventId };
    return this.#rarely(10) ? signedEvent(name, this.#pick(NAMES), more) : event(name, more);
  }

  #batch(): Command {
    const count = 1 + this.#random(this.#rarely(10) ? 200 : 4);
    return record(
      Array.from({ length: count }, () => this.#event()),
      { atomic: this.#rarely(5) },
    );
  }

  #claim(): Command {
    const { clockMs } = this.#ledger;
    return claim(this.#pick(NAMES), {
      originFingerprint: this.#recordOrigin(),
      attributeType: this.#rarely(4) ? 2 : 1,
      issuedAt: this.#random(20),
      issuer: this.#pick(ISSUERS),
      expiresAt: this.#rarely(5) ? clockMs + this.#random(200) : 0,
      credential: this.#rarely(4) ? credentialOf("admin") : CREDENTIAL,
    });
  }

  #party(): Party | null {
    const { claims } = this.#ledger.tables.records;
    const leaf = this.#leafOf(claims);
    const found = leaf === null ? undefined : claims.get(leaf.sequence);
    const name = NAMES.find((each) => bytesToHex(person(each).publicKey) === keyOf(found?.subjectPublicKey));
    return leaf === null || name === undefined ? null : { name, claim: leaf };
  }

  #grant(): Command {
    const { records } = this.#ledger.tables;
    const parent = this.#rarely(4) ? null : this.#leafOf(records.grants);
    const parentGrant = parent === null ? undefined : records.grants.get(parent.sequence);
    const fitting = parentGrant === undefined ? undefined : records.claims.get(parentGrant.granteeClaim);
    const fittingLeaf = this.#ledger.tables.leaves[fitting?.sequence ?? -1];
    const fittingName = NAMES.find((each) => bytesToHex(person(each).publicKey) === keyOf(fitting?.subjectPublicKey));
    const grantor =
      fittingLeaf !== undefined && fittingName !== undefined && !this.#rarely(5)
        ? { name: fittingName, claim: fittingLeaf }
        : this.#party();
    const grantee = this.#party();
    if (grantor === null || grantee === null) return this.#claim();
    const { clockMs } = this.#ledger;
    return grant(grantor, grantee, {
      ...(parent === null ? {} : { parent }),
      delegationDepth: Math.max(0, (parentGrant?.delegationDepth ?? 5) - this.#random(3)),
      issuedAt: this.#random(20),
      notBefore: this.#rarely(6) ? clockMs + this.#random(60) : 0,
      expiresAt: this.#rarely(5) ? clockMs + this.#random(400) : 0,
      originFingerprint: this.#recordOrigin(),
    });
  }

  #revocation(): Command {
    const { claims, grants } = this.#ledger.tables.records;
    const kind = this.#rarely(2) ? "claim" : "grant";
    const target = this.#leafOf(kind === "claim" ? claims : grants);
    if (target === null) return this.#claim();
    const by = this.#pick([...NAMES, "issuer", "witness"]);
    const reason = this.#random(3);
    if (this.#rarely(3)) return operatorRevocation(kind, target, { reason });
    return revocation(kind, target, {
      reason,
      ...(this.#rarely(2) ? { by } : { credential: credentialOf("admin") }),
    });
  }

  #keyCommand(): Command {
    const name = (): string => `key ${this.#random(20)}`;
    const keyId = hash(name()).slice(0, 16);
    switch (this.#random(4)) {
      case 0:
        return CREATE_KEY;
      case 1:
        return { kind: "revoke_api_key", keyId };
      case 2: {
        const keyHash = hash(name());
        return { kind: "rotate_api_key", keyId, keyHash, overlapMs: this.#random(100), expiresMs: 0 };
      }
      default: {
        const apiClientId = hash(`client ${this.#random(5)}`).slice(0, 16);
        return keyCommand(name(), ["write"], { apiClientId, requestsPerSecond: this.#random(2) });
      }
    }
  }

  #erasure(): Command {
    const { anchorId } = this.#pick(this.#ledger.tables.leaves);
    if (this.#rarely(2)) return { kind: "erase_client_event", credential: null, anchorId };
    return { kind: "erase_client_event", credential: credentialOf("admin"), anchorId };
  }

  command(): Command {
    const dice = this.#random(24);
    if (this.#ledger.tables.leaves.length === 0 || dice === 0) return { kind: "mark_certify_point" };
    if (dice === 1) return { kind: "genesis", document: GENESIS_DOCUMENT };
    if (dice < 4) return this.#keyCommand();
    if (dice < 6) return this.#claim();
    if (dice < 12) return this.#grant();
    if (dice < 13) return this.#revocation();
    if (dice < 15) return this.#erasure();
    return this.#batch();
  }

  group(): ProposalGroup {
    return this.#ledger.group(...Array.from({ length: 1 + this.#random(3) }, () => this.command()));
  }

  #certificates(): Certificate[] {
    if (!this.#rarely(4)) return [];
    return NODES.flatMap((node) => {
      const origin = this.#ledger.state.origins.get(bytesToHex(node.originFingerprint));
      if (origin === undefined || this.#rarely(2)) return [];
      const lowest = origin.tree.base + 1;
      const treeSize = Math.min(origin.tree.size, lowest + this.#random(origin.tree.size - lowest + 1));
      const cosigners = NODES.filter(() => !this.#rarely(4)).map((by) => [by, 100 + this.#random(50)] as const);
      return [certify(this.#ledger.head(node.originFingerprint, treeSize), cosigners)];
    });
  }

  entry(step: number): Entry {
    if (step === 3) return this.#ledger.entry([this.#ledger.group({ kind: "genesis", document: GENESIS_DOCUMENT })]);
    if (step === 4) return this.#ledger.entry([this.#ledger.group(CREATE_KEY, ADMIN_KEY)]);
    if (step === 40) return this.#ledger.entry([this.#ledger.group({ kind: "trust_root", document: VERSION_2 })]);
    if (step === RAISE_STEP)
      return this.#ledger.entry([this.#ledger.group({ kind: "raise_rules", rules: NEXT_RULES.max })]);
    const fresh = Array.from({ length: this.#random(4) }, () => {
      const group = this.group();
      return this.#rarely(10) ? { ...group, notAfter: this.#ledger.state.appliedIndex } : group;
    });
    this.#groups.push(...fresh);
    const again = this.#groups[this.#random(this.#groups.length + 1)];
    const groups = again !== undefined && this.#rarely(3) ? [...fresh, again] : fresh;
    const entry = this.#ledger.entry(groups, this.#certificates());
    return this.#rarely(6) ? { ...entry, acceptedMs: entry.acceptedMs - 100_000 } : entry;
  }
}

/** What the credential named `admin` stands for. */
export const ADMIN_KEY = keyCommand("admin", ["write", "revoke", "admin"]);

function keyOf(publicKey: Uint8Array | undefined): string | null {
  return publicKey === undefined ? null : bytesToHex(publicKey);
}
