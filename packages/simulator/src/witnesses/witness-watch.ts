import type { WitnessLine } from "@event-anchoring/control-contract";
import type { ControlPlaneNode } from "@event-anchoring/control-plane";
import {
  type Checkpoint,
  type SignatureLine,
  type TrustRoot,
  bytesToHex,
  checkpointOrigin,
  formatCheckpoint,
  meetsQuorum,
  quorumPolicyOf,
  verifyCosignature,
} from "@event-anchoring/protocol";
import type { Invariants } from "../machine/invariants.ts";
import { simulatedCrypto } from "../trust/simulated-crypto.ts";
import { WitnessedRoots } from "./witnessed-roots.ts";

/** A checkpoint that a witness has signed. */
interface SignedCheckpoint {
  readonly checkpoint: Checkpoint;
  readonly note: { readonly text: string; readonly lines: readonly SignatureLine[] };
}

/** What is always true of witnesses, and of what nodes keep of them. A method named as a sentence checks that. */
export class WitnessWatch {
  readonly #invariants: Pick<Invariants, "fail" | "everyHeadShownIsCertifiedAndTrue">;
  readonly #trustRoot: TrustRoot;
  readonly #roots: WitnessedRoots;
  /** Over which head each list of lines was verified: nodes are looked at often, and keep a list as long as a head. */
  readonly #verified = new WeakMap<readonly WitnessLine[], string>();
  linesSigned = 0;

  /** @param trustRoot one that lists the witnesses and the active nodes */
  constructor(invariants: Pick<Invariants, "fail" | "everyHeadShownIsCertifiedAndTrue">, trustRoot: TrustRoot) {
    this.#invariants = invariants;
    this.#trustRoot = trustRoot;
    this.#roots = new WitnessedRoots(trustRoot.witnessQuorum);
  }

  onSigned(signed: SignedCheckpoint, witness: string): void {
    this.linesSigned += 1;
    this.witnessesAreSentWhatIsCertified(signed, witness);
    this.#roots.onSigned(signed.checkpoint, witness);
    this.noTwoWitnessedHeadsContradict();
  }

  witnessesAreSentWhatIsCertified({ checkpoint, note }: SignedCheckpoint, witness: string): void {
    const policy = quorumPolicyOf(this.#trustRoot);
    if (meetsQuorum(note.lines, policy, note.text, simulatedCrypto.ed25519Verify).satisfied) return;
    this.#invariants.fail(
      "witnessesAreSentWhatIsCertified",
      `${witness} was sent size ${checkpoint.treeSize}, which lacks a quorum`,
    );
  }

  noTwoWitnessedHeadsContradict(): void {
    const { contradicted } = this.#roots;
    if (contradicted === null) return;
    this.#invariants.fail("noTwoWitnessedHeadsContradict", `two heads of size ${contradicted} are witnessed`);
  }

  everyLineKeptIsGood(machine: string, node: ControlPlaneNode | null): void {
    const heads = node?.session?.witnessing.heads;
    for (const origin of heads?.origins ?? []) {
      const held = heads?.heldOf(origin) ?? null;
      if (held !== null) this.#invariants.everyHeadShownIsCertifiedAndTrue({ ...held, checkpoint: held.checkpoint() });
    }
    for (const head of heads?.origins.flatMap((origin) => heads.headsOf(origin)) ?? []) {
      const { treeSize, rootHash, originFingerprint, lines } = head;
      const over = `${bytesToHex(originFingerprint)} ${treeSize} ${bytesToHex(rootHash)}`;
      if (this.#verified.get(lines) === over) continue;
      this.#verified.set(lines, over);
      const origin = checkpointOrigin(this.#trustRoot.clusterName, originFingerprint);
      const checkpointText = formatCheckpoint({ origin, treeSize, rootHash });
      for (const { witness, timeS, signature } of lines) {
        const publicKey = this.#trustRoot.witnesses.find(({ name }) => name === witness)?.vkey.publicKey;
        const cosignature = { timeS, signature, publicKey: publicKey ?? new Uint8Array(32), checkpointText };
        if (verifyCosignature(cosignature, simulatedCrypto.ed25519Verify)) continue;
        this.#invariants.fail("everyLineKeptIsGood", `${machine} keeps a line of ${witness} over size ${treeSize}`);
      }
    }
  }
}
