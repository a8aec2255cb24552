/** What the demo does, one request each: the recommended flow, over the public API and nothing else. */
import { randomUUID } from "node:crypto";
import { ATTRIBUTE_TYPES, bytesToHex, utf8ToBytes } from "@event-anchoring/protocol";
import { LocalKey, readers, sha256 } from "@event-anchoring/sdk";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { draftOf, requestOf, signedBy } from "../drafts/draft.ts";
import type { DraftKind } from "../drafts/draft.ts";
import { expectStatus } from "../service/service.ts";
import type { Answer, Fields, Service } from "../service/service.ts";
import { readTrace } from "../service/trace-answer.ts";
import type { ShownTrace } from "../service/trace-answer.ts";
import { askWholeTrace } from "../service/whole-trace.ts";

/** A record that the service has taken. */
export interface Recorded {
  readonly anchorId: string;
  readonly sequence: number;
  /** The receipt as it came, unchecked; null if the record is committed and not yet certified. */
  readonly receipt: Fields | null;
  /** From request to answer, milliseconds. */
  readonly tookMs: number;
}

/** What GET /v1/claim-anchors or /v1/grant-anchors answers: the record in force, or why there is none. */
export interface Current {
  readonly anchorId: string | null;
  /** `active`, or the problem's code. */
  readonly word: string;
}

/** Checks of a verification that the service made. */
export interface Verified {
  readonly isValid: boolean;
  readonly passed: number;
  /** Codes of the checks that failed. */
  readonly failed: readonly string[];
}

const { count, flag, hex32, listOf, object, optional, record, text } = readers;
const readHealth = record({ originFingerprint: hex32 });
const readRecorded = record({ anchor: record({ anchorId: hex32, sequence: count }), receipt: optional(object) });
const readCurrent = record({ anchor: record({ anchorId: hex32 }), state: text });
const readVerified = record({ valid: flag, checks: listOf(record({ code: text, result: text })) });

const HOUR_MS = 3_600_000;

/** SHA-256 of a text, 64 hex digits. What is anchored are hashes: the text itself stays with the client. */
export function hashOf(words: string): string {
  return bytesToHex(sha256(utf8ToBytes(words)));
}

/**
 * One run: entities, keys and ids of its own, so that it meets nothing that an earlier run has left. Everything is
 * signed here, on the client's side: the service sees public keys and signatures.
 */
export class Play {
  /** The issuer vouches, the deployer delegates, the agent acts, the witness sees the delegation. Kept in memory. */
  readonly parties = {
    issuer: LocalKey.generate(),
    deployer: LocalKey.generate(),
    agent: LocalKey.generate(),
    witness: LocalKey.generate(),
  } as const;
  readonly scope = "deploy to staging";
  readonly origin: string;
  readonly apiUrl: string;
  readonly #service: Service;
  readonly #run = randomUUID();

  private constructor(service: Service, health: Answer) {
    this.#service = service;
    this.origin = health.read(readHealth).originFingerprint;
    this.apiUrl = health.apiUrl;
  }

  /** Reads the origin of a node that answers, as every client does before its first write. */
  static async begin(service: Service): Promise<Play> {
    return new Play(service, expectStatus(await service.ask({ path: "/healthz" }), 200));
  }

  /** 64 hex digits. */
  entity(role: "deployer" | "agent"): string {
    return hashOf(`${role} of demo ${this.#run}`);
  }

  async register(role: "deployer" | "agent"): Promise<Recorded> {
    const [subject, issuer] = [this.parties[role], this.parties.issuer];
    const claim = {
      entity_fingerprint: this.entity(role),
      attribute_type: ATTRIBUTE_TYPES.role,
      attribute_hash: hashOf(`role: ${role}`),
      issued_at: Date.now(),
      subject_public_key: subject.publicKeyHex,
      issuer_public_key: issuer.publicKeyHex,
    };
    return this.#record("claim", claim, [subject, issuer]);
  }

  async currentClaim(role: "deployer" | "agent"): Promise<Current> {
    return this.#current("/v1/claim-anchors", {
      entity_fingerprint: this.entity(role),
      attribute_type: String(ATTRIBUTE_TYPES.role),
    });
  }

  /** For an hour, and with no further hop. */
  async delegate(deployerClaim: string, agentClaim: string): Promise<Recorded> {
    const { deployer, witness } = this.parties;
    const now = Date.now();
    const grant = {
      grantor_claim_ref: deployerClaim,
      grantee_claim_ref: agentClaim,
      scope_hash: hashOf(this.scope),
      delegation_depth: 0,
      issued_at: now,
      expires_at: now + HOUR_MS,
      grantor_public_key: deployer.publicKeyHex,
      witness_public_key: witness.publicKeyHex,
    };
    return this.#record("grant", grant, [deployer, witness]);
  }

  async currentGrant(): Promise<Current> {
    return this.#current("/v1/grant-anchors", {
      grantor_fingerprint: this.entity("deployer"),
      grantee_fingerprint: this.entity("agent"),
    });
  }

  /** @param act what is done: its hash is anchored, signed by the agent, who proves that it acted */
  async act(act: string, claim: string, grant: string): Promise<Recorded> {
    const { agent } = this.parties;
    const event = {
      event_hash: hashOf(act),
      semantic_anchor: { iris_ref: claim, grant_ref: grant, event_data_hash: hashOf(act) },
      client_event_id: `demo ${this.#run} ${act}`,
      actor_public_key: agent.publicKeyHex,
    };
    return this.#record("event", event, [agent]);
  }

  /** By the grantor. */
  async withdraw(grant: string): Promise<Recorded> {
    const { deployer } = this.parties;
    const revocation = {
      target_kind: "grant",
      target_anchor_id: grant,
      target_origin_fingerprint: this.origin,
      reason: "privilege_withdrawn",
      issued_at: Date.now(),
      revoker_public_key: deployer.publicKeyHex,
    };
    return this.#record("revocation", revocation, [deployer]);
  }

  async trace(anchorId: string): Promise<ShownTrace> {
    return (await askWholeTrace(this.#service, anchorId)).read(readTrace);
  }

  async verify(kind: "event" | "claim" | "grant", anchorId: string): Promise<Verified> {
    const question = { method: "POST", path: `/v1/${kind}-anchors:verify`, body: { anchor_id: anchorId } } as const;
    const { valid, checks } = await this.#service.read(question, readVerified);
    return {
      isValid: valid,
      passed: checks.filter(({ result }) => result === "pass").length,
      failed: checks.filter(({ result }) => result === "fail").map(({ code }) => code),
    };
  }

  /** The receipt that the answer held or, if it came before the certificate, the one of now. */
  async receiptOf(recorded: Recorded): Promise<Fields> {
    if (recorded.receipt !== null) return recorded.receipt;
    return this.#service.read({ path: `/v1/event-anchors/${recorded.anchorId}/receipt` }, object);
  }

  /** Asking again is safe: the same claim, grant, revocation or client_event_id is the same record. */
  async #record(kind: DraftKind, fields: Fields, signers: readonly LocalKey[]): Promise<Recorded> {
    const draft = draftOf(kind, { origin_fingerprint: this.origin, ...fields });
    const { path, body } = requestOf(signedBy(draft, signers));
    const startedAt = performance.now();
    const answer = expectStatus(await this.#service.ask({ method: "POST", path, body }), 200, 201, 202);
    const { anchor, receipt } = answer.read(readRecorded);
    return { ...anchor, receipt: answer.status === 202 ? null : receipt, tookMs: performance.now() - startedAt };
  }

  async #current(path: string, query: Readonly<Record<string, string>>): Promise<Current> {
    const answer = await this.#service.ask({ path, query });
    const { code } = answer.body;
    if (answer.status === 404 && typeof code === "string" && code.startsWith("no_active_")) {
      return { anchorId: null, word: code };
    }
    const { anchor, state } = expectStatus(answer, 200).read(readCurrent);
    if (state === "active") return { anchorId: anchor.anchorId, word: state };
    throw new CliError(EXIT.unavailable, "answer_malformed", `${path} answered a record that is ${state}`);
  }
}
