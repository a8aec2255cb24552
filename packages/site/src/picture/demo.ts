/** A leaf of the log. */
export interface Leaf {
  /** What it is to a reader. */
  readonly role: string;
  /** 64 hex digits. */
  readonly anchorId: string;
  /** When the service accepted it: `14:44:53.073`, UTC. */
  readonly time: string;
  /** Earlier anchors that it names. */
  readonly names: readonly string[];
  /** An act: whether it was authorised when it happened. Null: no act. */
  readonly isAuthorised: boolean | null;
  /** It takes back what it names. */
  readonly isRevocation: boolean;
}

/** The log of a demo: its first leaf to its last, the root over them, and who has signed it. */
export interface Demo {
  readonly leaves: readonly Leaf[];
  /** 64 hex digits. */
  readonly rootHash: string;
  /** Active nodes of the cluster. */
  readonly nodes: readonly { readonly name: string; readonly hasSigned: boolean }[];
}

interface StatedAnchor {
  readonly kind: string;
  readonly anchor_id: string;
  readonly depth: number;
  readonly accepted_at: string;
  readonly client_event_id?: string;
  readonly grantor_claim_ref?: string;
  readonly grantee_claim_ref?: string;
  readonly target_anchor_id?: string;
  readonly semantic_anchor?: { readonly iris_ref: string | null; readonly grant_ref: string | null };
}

interface Bundle {
  readonly trust_roots: readonly string[];
  readonly checkpoints: readonly string[];
  readonly stated: {
    readonly anchor: StatedAnchor;
    readonly authorised_at_action: boolean;
    readonly parents: { readonly items: readonly StatedAnchor[] };
    readonly eea: { readonly root_hash: string };
  };
}

function namesOf(anchor: StatedAnchor): readonly string[] {
  const { grantor_claim_ref, grantee_claim_ref, target_anchor_id, semantic_anchor } = anchor;
  const named = [grantor_claim_ref, grantee_claim_ref, target_anchor_id, semantic_anchor?.grant_ref];
  return named.flatMap((id) => id ?? []);
}

/** An act of the demo calls itself `demo <id of the run> <what is done>`. */
function actOf({ client_event_id }: StatedAnchor): string {
  return (client_event_id ?? "").split(" ").slice(2).join(" ");
}

function roleOf(anchor: StatedAnchor, grant: StatedAnchor | undefined): string {
  if (anchor.kind === "signed_event") return actOf(anchor);
  if (anchor.kind !== "claim") return anchor.kind;
  return anchor.anchor_id === grant?.grantor_claim_ref ? "deployer" : "agent";
}

function nodesOf({ trust_roots: roots, checkpoints }: Bundle): Demo["nodes"] {
  const names = [...(roots.at(-1) ?? "").matchAll(/^node (\S+) active /gmu)].map(([, name]) => name ?? "");
  const note = checkpoints.at(-1) ?? "";
  return names.map((name) => ({ name, hasSigned: new RegExp(`^— \\S+/node/${name} `, "mu").test(note) }));
}

/**
 * Reads what the bundles of a demo state; whoever wants to rely on it verifies them.
 * @param texts a bundle for each act; the last one has the whole log up to its act
 * @throws Error if it has not, or an act has no bundle
 */
export function readDemo(texts: readonly string[]): Demo {
  const bundles = texts.map((text) => JSON.parse(text) as Bundle);
  const verdicts = new Map(bundles.map(({ stated }) => [stated.anchor.anchor_id, stated.authorised_at_action]));
  const whole = bundles.at(-1);
  if (whole === undefined) throw new Error("a demo has a bundle");
  const { anchor, parents, eea } = whole.stated;
  const anchors = [...parents.items].reverse().concat(anchor);
  if (anchors.some(({ depth }, at) => depth !== at)) throw new Error("the last bundle has not the whole log");
  const grant = anchors.find(({ kind }) => kind === "grant");
  const leaves = anchors.map((one): Leaf => {
    const isAuthorised = verdicts.get(one.anchor_id) ?? null;
    if (one.kind === "signed_event" && isAuthorised === null) throw new Error(`${actOf(one)} has no bundle`);
    return {
      role: roleOf(one, grant),
      anchorId: one.anchor_id,
      time: one.accepted_at.slice(11, 23),
      names: namesOf(one),
      isAuthorised,
      isRevocation: one.kind === "revocation",
    };
  });
  return { leaves, rootHash: eea.root_hash, nodes: nodesOf(whole) };
}
