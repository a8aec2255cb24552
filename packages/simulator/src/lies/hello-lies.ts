import {
  type Hello,
  type HelloRefusal,
  type HelloVerdict,
  type OwnWord,
  type SignedProgress,
  progressSignedBytes,
} from "@event-anchoring/control-contract";
import { type LiarSelf, NoLie } from "./lie.ts";
import { cosignedBy } from "./other-bytes.ts";

const TICKS_BETWEEN = 5;

/** Dials again and again, with another statement each time. */
abstract class HelloLie extends NoLie {
  override readonly isDeaf = true;
  protected readonly self: LiarSelf;
  #ticks = 0;
  #said = 0;

  constructor(self: LiarSelf) {
    super();
    this.self = self;
  }

  override onTick(): void {
    this.#ticks += 1;
    if (this.#ticks % TICKS_BETWEEN === 0) this.self.reconnect();
  }

  protected next<Way>(ways: readonly [Way, ...Way[]]): Way {
    this.#said += 1;
    return ways[this.#said % ways.length] ?? ways[0];
  }

  /** @param nodeId the node whose progress it claims to be; the key is the liar's own */
  protected signed(progress: SignedProgress, nodeId = this.self.nodeId): SignedProgress {
    const message = progressSignedBytes({ clusterId: this.self.clusterId, nodeId }, progress);
    return { ...progress, signature: this.self.authSigner.sign(message) };
  }
}

/** Lies about itself: other lives, other ends of its log, other signatures, with its own good signature and without. */
export class ForgedHellos extends HelloLie {
  readonly #ways: readonly [(hello: Hello) => Hello, ...((hello: Hello) => Hello)[]] = [
    (hello) => hello,
    (hello) => this.#progress(hello, { index: hello.progress.index + 1_000_000 }),
    (hello) => this.#progress(hello, { term: 0, index: 0 }),
    (hello) => ({ ...hello, progress: { ...hello.progress, index: 7, signature: new Uint8Array(64) } }),
    (hello) => ({ ...hello, signed: [] }),
    (hello) => ({ ...hello, signed: hello.signed.map((head) => ({ ...head, rootHash: new Uint8Array(32) })) }),
    (hello) => ({ ...hello, trustRootVersion: 99, rulesMax: 99 }),
    (hello) => this.#progress(hello, { lifeId: new Uint8Array(16) }),
    (hello) => this.#progress(hello, { incarnation: hello.progress.incarnation + 5 }),
  ];

  override onHello(hello: Hello): Hello {
    return this.next(this.#ways)(hello);
  }

  #progress(hello: Hello, change: Partial<SignedProgress>): Hello {
    return { ...hello, progress: this.signed({ ...hello.progress, ...change }) };
  }
}

/** Accuses others of having forgotten what it claims they had signed. */
export class ForgedAccusations extends HelloLie {
  readonly #ways: readonly [(peer: Hello) => HelloRefusal, ...((peer: Hello) => HelloRefusal)[]] = [
    () => refusal("amnesia"),
    () => refusal("stale_incarnation"),
    (peer) => refusal("amnesia", this.#progressOf(peer, { index: peer.progress.index + 100 })),
    (peer) => refusal("stale_incarnation", this.#progressOf(peer, { incarnation: peer.progress.incarnation + 1 })),
    (peer) => refusal("amnesia", { kind: "progress", progress: { ...peer.progress, term: peer.progress.term + 9 } }),
    (peer) => refusal("amnesia", this.#cosignatureOf(peer) ?? undefined),
    () => refusal("retired"),
    () => refusal("unknown_node"),
  ];

  override onJudging(peer: Hello, verdict: HelloVerdict): HelloVerdict {
    return verdict.accepted ? this.next(this.#ways)(peer) : verdict;
  }

  #progressOf({ nodeId, progress }: Hello, change: Partial<SignedProgress>): OwnWord {
    return { kind: "progress", progress: this.signed({ ...progress, ...change }, nodeId) };
  }

  #cosignatureOf({ signed }: Hello): OwnWord | null {
    const [head] = signed;
    if (head === undefined) return null;
    const { cosigner, trustRoot } = this.self;
    const more = { ...head, treeSize: head.treeSize + 10, timeS: 1_800_000_000, signature: new Uint8Array(64) };
    const said = cosignedBy(cosigner, trustRoot, { ...more, raftIndex: 1, effect: new Uint8Array(32) });
    return { kind: "cosignature", ...said };
  }
}

function refusal(code: HelloRefusal["code"], ownWord?: OwnWord): HelloRefusal {
  const said: HelloRefusal = { accepted: false, code, detail: "a liar says so" };
  return ownWord === undefined ? said : { ...said, ownWord };
}
