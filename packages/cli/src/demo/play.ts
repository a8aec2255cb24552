/** What the demo does, one request each: the recommended flow, over the public API and nothing else. */
import { randomUUID } from "node:crypto";
import { bytesToHex } from "@event-anchoring/protocol";
import { countAt, fieldsAt, flagAt, hashAt, textAt, textOrNullAt } from "../answer-fields.ts";
import type { Fields } from "../answer-fields.ts";
import { CliError, EXIT } from "../cli-error.ts";
import { expectStatus } from "../service.ts";
import type { Answer, Service } from "../service.ts";
import { readTrace } from "../trace-answer.ts";
import { askWholeTrace } from "../whole-trace.ts";
import type { ShownTrace } from "../trace-answer.ts";
import { drawParties } from "./parties.ts";
import type { Parties } from "./parties.ts";
import { claimBody, eventBody, grantBody, hashOf, revocationBody } from "./requests.ts";

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

const ATTRIBUTE_ROLE = 0x0001;
const HOUR_MS = 3_600_000;

/** One run: entities, keys and ids of its own, so that it meets nothing that an earlier run has left. */
export class Play {
  readonly parties: Parties = drawParties();
  readonly scope = "deploy to staging";
  readonly origin: string;
  readonly apiUrl: string;
  readonly #service: Service;
  readonly #run = randomUUID();

  private constructor(service: Service, health: Answer) {
    this.#service = service;
    this.origin = hashAt(health.body, "origin_fingerprint");
    this.apiUrl = health.apiUrl;
  }

  /** Reads the origin of a node that answers, as every client does before its first write. */
  static async begin(service: Service): Promise<Play> {
    return new Play(service, expectStatus(await service.ask({ method: "GET", path: "/healthz" }), 200));
  }

  /** 64 hex digits. */
  entity(role: "deployer" | "agent"): string {
    return bytesToHex(hashOf(`${role} of demo ${this.#run}`));
  }

  async register(role: "deployer" | "agent"): Promise<Recorded> {
    const body = claimBody({
      origin: this.origin,
      entityFingerprint: hashOf(`${role} of demo ${this.#run}`),
      attributeType: ATTRIBUTE_ROLE,
      attributeHash: hashOf(`role: ${role}`),
      issuedAt: Date.now(),
      subject: this.parties[role],
      issuer: this.parties.issuer,
    });
    return this.#record("/v1/claim-anchors", body);
  }

  async currentClaim(role: "deployer" | "agent"): Promise<Current> {
    const query = new URLSearchParams({
      entity_fingerprint: this.entity(role),
      attribute_type: String(ATTRIBUTE_ROLE),
    });
    return this.#current(`/v1/claim-anchors?${query.toString()}`);
  }

  /** For an hour, and with no further hop. */
  async delegate(deployerClaim: string, agentClaim: string): Promise<Recorded> {
    const now = Date.now();
    const body = grantBody({
      origin: this.origin,
      grantorClaim: deployerClaim,
      granteeClaim: agentClaim,
      scopeHash: hashOf(this.scope),
      delegationDepth: 0,
      issuedAt: now,
      expiresAt: now + HOUR_MS,
      grantor: this.parties.deployer,
      witness: this.parties.witness,
    });
    return this.#record("/v1/grant-anchors", body);
  }

  async currentGrant(): Promise<Current> {
    const parties = { grantor_fingerprint: this.entity("deployer"), grantee_fingerprint: this.entity("agent") };
    return this.#current(`/v1/grant-anchors?${new URLSearchParams(parties).toString()}`);
  }

  /** @param act what is done: its hash is anchored */
  async act(act: string, claim: string, grant: string): Promise<Recorded> {
    const body = eventBody({
      origin: this.origin,
      eventHash: hashOf(act),
      claim,
      grant,
      clientEventId: `demo ${this.#run} ${act}`,
      actor: this.parties.agent,
    });
    return this.#record("/v1/event-anchors", body);
  }

  /** By the grantor. */
  async withdraw(grant: string): Promise<Recorded> {
    const body = revocationBody({
      origin: this.origin,
      target: grant,
      reason: "privilege_withdrawn",
      issuedAt: Date.now(),
      revoker: this.parties.deployer,
    });
    return this.#record(`/v1/grant-anchors/${grant}/revoke`, body);
  }

  async trace(anchorId: string): Promise<ShownTrace> {
    return readTrace(await askWholeTrace(this.#service, anchorId));
  }

  async verify(kind: "event" | "claim" | "grant", anchorId: string): Promise<Verified> {
    const question = { method: "POST", path: `/v1/${kind}-anchors:verify`, body: { anchor_id: anchorId } } as const;
    const { body } = expectStatus(await this.#service.ask(question), 200);
    const checks: readonly unknown[] = Array.isArray(body.checks) ? body.checks : [];
    const results = checks.map((check) => {
      const fields = fieldsAt({ checks: check }, "checks");
      return { code: textAt(fields, "code"), result: textAt(fields, "result") };
    });
    return {
      isValid: flagAt(body, "valid"),
      passed: results.filter(({ result }) => result === "pass").length,
      failed: results.filter(({ result }) => result === "fail").map(({ code }) => code),
    };
  }

  /** The receipt that the answer held or, if it came before the certificate, the one of now. */
  async receiptOf(recorded: Recorded): Promise<Fields> {
    if (recorded.receipt !== null) return recorded.receipt;
    const path = `/v1/event-anchors/${recorded.anchorId}/receipt`;
    return expectStatus(await this.#service.ask({ method: "GET", path }), 200).body;
  }

  /** Asking again is safe: the same claim, grant, revocation or client_event_id is the same record. */
  async #record(path: string, body: object): Promise<Recorded> {
    const startedAt = performance.now();
    const answer = expectStatus(await this.#service.ask({ method: "POST", path, body }), 200, 201, 202);
    const anchor = fieldsAt(answer.body, "anchor");
    return {
      anchorId: hashAt(anchor, "anchor_id"),
      sequence: countAt(anchor, "sequence"),
      receipt: answer.status === 202 ? null : fieldsAt(answer.body, "receipt"),
      tookMs: performance.now() - startedAt,
    };
  }

  async #current(path: string): Promise<Current> {
    const answer = await this.#service.ask({ method: "GET", path });
    const code = textOrNullAt(answer.body, "code");
    if (answer.status === 404 && code !== null && code.startsWith("no_active_")) {
      return { anchorId: null, word: code };
    }
    const { body } = expectStatus(answer, 200);
    const state = textAt(body, "state");
    if (state === "active") return { anchorId: hashAt(fieldsAt(body, "anchor"), "anchor_id"), word: state };
    throw new CliError(EXIT.unavailable, "answer_malformed", `${path} answered a record that is ${state}`);
  }
}
