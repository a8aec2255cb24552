/** The responsibility chain of a bundle, as boxes and arrows: who delegated to whom, down to the act. */
import type { BundleVerification } from "@event-anchoring/bundle";
import {
  LEAF_KIND,
  REVOCATION_AUTHORITIES,
  REVOCATION_REASONS,
  bytesToHex,
  decodeLeaf,
} from "@event-anchoring/protocol";
import type { Leaf } from "@event-anchoring/protocol";
import type { RecordState, Trace } from "@event-anchoring/records";
import { hopsText, isoMs, named, reasonText, short, shownVerdict, windowText } from "@event-anchoring/verdicts";
import type { Mark, Names } from "@event-anchoring/verdicts";

export type BoxKind = "claim" | "grant" | "act" | "revocation";

export interface Box {
  /** Hex of the anchor id. */
  readonly id: string;
  readonly kind: BoxKind;
  readonly mark: Mark;
  /** A name of the reader's, or the kind and the first digits. */
  readonly title: string;
  readonly lines: readonly string[];
  /** Why it broke; empty: it did not. */
  readonly faults: readonly string[];
}

export interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly label: string;
  readonly isBroken: boolean;
}

export interface ChainModel {
  readonly boxes: readonly Box[];
  readonly arrows: readonly Arrow[];
  /** Grants above those that are shown. */
  readonly omitted: number;
}

/** A record that a trace shows. */
interface Shown {
  readonly anchorId: Uint8Array;
  readonly bytes: Uint8Array;
  readonly state: RecordState | null;
}

/** Longer chains show both ends. */
const HOPS_SHOWN_MAX = 12;
const HOPS_SHOWN_AT_EACH_END = 5;
/** More revocations than these are lines with a count: somebody may revoke one record a thousand times. */
const REVOCATIONS_APART_MAX = 12;

function lineOf(line: string, count: number): string {
  return count < 2 ? line : `${line}, ${count} times`;
}

class ChainBuilder {
  readonly boxes = new Map<string, Box>();
  readonly arrows: Arrow[] = [];
  readonly #trace: Trace;
  readonly #names: Names;
  readonly #isPinned: boolean;

  constructor(trace: Trace, names: Names, isPinned: boolean) {
    this.#trace = trace;
    this.#names = names;
    this.#isPinned = isPinned;
  }

  addDelegation(): number {
    const hops = this.#trace.delegation.hops.toReversed();
    const isLong = hops.length > HOPS_SHOWN_MAX;
    const shown = isLong ? [...hops.slice(0, HOPS_SHOWN_AT_EACH_END), ...hops.slice(-HOPS_SHOWN_AT_EACH_END)] : hops;
    let above: string | null = null;
    for (const { grant, grantorClaim, granteeClaim } of shown) {
      const grantor = this.#addClaim(grantorClaim);
      if (above !== null && above !== grantor) this.#arrow(above, grantor, "renewed, or further down");
      const link = this.#addGrant(grant);
      above = this.#addClaim(granteeClaim);
      this.#arrow(grantor, link, "delegates");
      this.#arrow(link, above, "to");
    }
    return this.#trace.delegation.omitted + hops.length - shown.length;
  }

  /** The subject of the bundle, unless it is in the chain already. */
  addSubject(subject: string, verification: BundleVerification): void {
    const { leaf, actor, delegation } = this.#trace;
    if (this.boxes.has(subject)) return;
    const claim = actor.claim === null ? null : this.#addClaim({ ...actor.claim, state: actor.state });
    const [last] = delegation.hops;
    const grantee = last === undefined ? null : bytesToHex(last.granteeClaim.anchorId);
    const isAct = leaf.kind === LEAF_KIND.event || leaf.kind === LEAF_KIND.signedEvent;
    const verdict = shownVerdict(verification.authorisedAtAction, verification.actorProven);
    this.#add(subject, {
      kind: "act",
      mark: isAct ? verdict.mark : "skip",
      title: this.#title(subject, isAct ? "the act" : KIND_WORDS[leaf.kind]),
      lines: [
        ...this.#hashLine(subject, isAct ? "the act" : KIND_WORDS[leaf.kind]),
        isoMs(leaf.acceptedMs),
        ...(isAct ? [verification.actorProven ? "signed by the actor" : "actor not proven"] : []),
      ],
    });
    if (claim !== null) this.#arrow(claim, subject, "acts");
    if (grantee === null || grantee === claim) return;
    const link = bytesToHex(last?.grant.anchorId ?? new Uint8Array(0));
    this.#arrow(link, subject, "is named by");
  }

  /** @param isRoom each is a box of its own; else, where there is no room, a line of what it revokes */
  addRevocations(isRoom: boolean): void {
    const areApart = isRoom && this.#trace.revocations.length <= REVOCATIONS_APART_MAX;
    const counts = new Map<string, number>();
    for (const { anchorId, bytes, targetAnchorId, isBeforeAction } of this.#trace.revocations) {
      const target = bytesToHex(targetAnchorId);
      const leaf = decodeLeaf(bytes);
      const box = this.boxes.get(target);
      if (leaf.kind !== LEAF_KIND.revocation || box === undefined) continue;
      const id = bytesToHex(anchorId);
      const by = REVOCATION_AUTHORITIES[leaf.authority] ?? "";
      const reason = (REVOCATION_REASONS[leaf.reason] ?? "").replaceAll("_", " ");
      if (!areApart) {
        const line = `revoked by the ${by}: ${reason}`;
        const before = counts.get(`${target} ${line}`) ?? 0;
        counts.set(`${target} ${line}`, before + 1);
        const lines = box.lines.filter((each) => each !== lineOf(line, before));
        this.boxes.set(target, { ...box, lines: [...lines, lineOf(line, before + 1)] });
        continue;
      }
      this.#add(id, {
        kind: "revocation",
        mark: "warn",
        title: this.#title(id, "revocation"),
        lines: [
          ...this.#hashLine(id, "revocation"),
          `by the ${by}: ${reason}`,
          `${isoMs(leaf.acceptedMs)}, ${isBeforeAction ? "before" : "after"} the act`,
        ],
      });
      this.arrows.push({ from: id, to: target, label: "revokes", isBroken: true });
    }
  }

  #addClaim({ anchorId, bytes, state }: Shown): string {
    const id = bytesToHex(anchorId);
    const leaf = decodeLeaf(bytes);
    if (leaf.kind !== LEAF_KIND.claim) return id;
    const entity = bytesToHex(leaf.entityFingerprint);
    const name = this.#names.get(id) ?? this.#names.get(entity) ?? this.#names.get(bytesToHex(leaf.subjectPublicKey));
    this.#add(id, {
      kind: "claim",
      mark: this.#stateMark(state),
      title: name ?? `entity ${short(entity)}`,
      lines: [
        // A name is a reader's word: what is proved stays in the box.
        ...(name === undefined ? [] : [`entity ${short(entity)}`]),
        `claim ${short(id)}, ${state ?? "state unknown"}`,
        ...(leaf.expiresAt === 0 ? [] : [`until ${isoMs(leaf.expiresAt)}`]),
      ],
    });
    return id;
  }

  #addGrant({ anchorId, bytes, state }: Shown): string {
    const id = bytesToHex(anchorId);
    const leaf = decodeLeaf(bytes);
    if (leaf.kind !== LEAF_KIND.grant) return id;
    const scope = bytesToHex(leaf.scopeHash);
    this.#add(id, {
      kind: "grant",
      mark: this.#stateMark(state),
      title: this.#title(id, "grant"),
      lines: [
        ...this.#hashLine(id, "grant"),
        `${state ?? "state unknown"}, ${hopsText(leaf.delegationDepth)}`,
        windowText(leaf),
        `scope ${named(scope, this.#names)}`,
      ],
    });
    return id;
  }

  /** Nothing is shown as good without a pin. */
  #stateMark(state: RecordState | null): Mark {
    if (state === null) return "skip";
    return state === "active" ? "pass" : "fail";
  }

  /** The hash of a box that has a name for its title. */
  #hashLine(id: string, kind: string): string[] {
    return this.#names.has(id) ? [`${kind} ${short(id)}`] : [];
  }

  #title(id: string, otherwise: string): string {
    return this.#names.get(id) ?? `${otherwise} ${short(id)}`;
  }

  #add(id: string, box: Omit<Box, "id" | "faults">): void {
    if (this.boxes.has(id)) return;
    const faults = this.#trace.reasons
      .filter(({ verdict, anchorId }) => verdict === "now" && anchorId !== null && bytesToHex(anchorId) === id)
      .map(({ code, sequence }) => reasonText({ code, anchorId: null, sequence }));
    const broken: Mark = faults.length > 0 ? "fail" : box.mark;
    const mark: Mark = broken === "pass" && !this.#isPinned ? "skip" : broken;
    this.boxes.set(id, { id, ...box, mark, faults: [...new Set(faults)] });
  }

  #arrow(from: string, to: string, label: string): void {
    const isBroken = this.boxes.get(from)?.mark === "fail";
    this.arrows.push({ from, to, label, isBroken });
  }
}

const KIND_WORDS: Readonly<Record<Leaf["kind"], string>> = {
  [LEAF_KIND.genesis]: "genesis",
  [LEAF_KIND.event]: "event",
  [LEAF_KIND.claim]: "claim",
  [LEAF_KIND.grant]: "grant",
  [LEAF_KIND.revocation]: "revocation",
  [LEAF_KIND.trustRoot]: "trust root",
  [LEAF_KIND.signedEvent]: "signed event",
};

export function kindWord(kind: Leaf["kind"]): string {
  return KIND_WORDS[kind];
}

/** Null: the bundle is invalid, and nothing of it is drawn. */
export function chainModelOf(
  verification: BundleVerification,
  { names, isPinned, isNarrow }: { readonly names: Names; readonly isPinned: boolean; readonly isNarrow: boolean },
): ChainModel | null {
  const { trace, subject } = verification;
  if (trace === null) return null;
  const builder = new ChainBuilder(trace, names, isPinned);
  const omitted = builder.addDelegation();
  builder.addSubject(bytesToHex(subject), verification);
  builder.addRevocations(!isNarrow);
  return { boxes: [...builder.boxes.values()], arrows: builder.arrows, omitted };
}
