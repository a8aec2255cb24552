import type { ActSigner } from "@event-anchoring/control-contract";
import { act, drawApiKey, issueOperatorCertificate, loadFirstOperator } from "@event-anchoring/provision";
import type { CalledNode, NewApiKey, OperatorCredential } from "@event-anchoring/provision";
import type { TestCluster } from "./test-cluster.ts";
import { until } from "../until.ts";

export type NewKeyOptions = Parameters<typeof drawApiKey>[0];

/** Makes and ends API keys of a test cluster, as `anchorctl keys` does. */
export class TestOperator {
  readonly #setup: Pick<TestCluster, "cluster">;
  readonly #credential: OperatorCredential;
  readonly #signer: ActSigner;

  private constructor(setup: Pick<TestCluster, "cluster">, credential: OperatorCredential, signer: ActSigner) {
    this.#setup = setup;
    this.#credential = credential;
    this.#signer = signer;
  }

  static async of(setup: Pick<TestCluster, "cluster">): Promise<TestOperator> {
    const credential = await issueOperatorCertificate({ outDir: setup.cluster.root, operatorId: "test" });
    return new TestOperator(setup, credential, await loadFirstOperator(setup.cluster.root));
  }

  /** Resolves when the key is in the log: from then on every node knows it. */
  async createKey(options: NewKeyOptions): Promise<NewApiKey> {
    const key = drawApiKey(options);
    await this.#applied("an API key is made", (node) =>
      act({ credential: this.#credential, signer: this.#signer, node, call: key.call }),
    );
    return key;
  }

  /** @param keyId 16 bytes */
  async revokeKey(keyId: Uint8Array): Promise<void> {
    await this.#applied("an API key is revoked", (node) =>
      act({ credential: this.#credential, signer: this.#signer, node, call: { kind: "revoke_api_key", keyId } }),
    );
  }

  /** Retries the call, which is idempotent, until a node has a leader. */
  async #applied(what: string, call: (node: CalledNode) => Promise<{ readonly outcome: string }>): Promise<void> {
    const { called } = this.#setup.cluster.node(this.#setup.cluster.file.nodes[0]?.id ?? "");
    await until(what, async () => {
      const { outcome } = await call(called);
      if (outcome === "rejected") throw new Error(`${what}: rejected`);
      return outcome === "applied" || outcome === "unchanged";
    });
  }
}
