import type { Command, Credential, OperatorCommand } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { apiKeyHash, utf8ToBytes } from "@event-anchoring/protocol";
import type { Seeded } from "../world/seeded.ts";

/** A key's state by the answers so far: not yet good, good, certainly powerless, or either of the last two. */
type KeyState = "asked_for" | "good" | "powerless" | "unknown";

interface RingKey {
  readonly keyHash: Uint8Array;
  readonly credential: Credential;
  state: KeyState;
}

/** A credential to make a command with. */
export interface DrawnCredential {
  readonly credential: Credential;
  /** The end of its key was acknowledged before this moment. */
  readonly isPowerless: boolean;
}

/** The key that every life begins with. It is never touched again. */
const FIRST = keyOf("first", "first");
export const CREATE_FIRST_KEY = createKey(FIRST);
/** The API client of that key. */
export const FIRST_CLIENT = FIRST.credential.apiClientId;

/** API keys of a life: made, rotated, revoked, and used before and after that. */
export class KeyRing {
  readonly #random: Seeded;
  readonly #keys: RingKey[] = [];

  constructor(random: Seeded) {
    this.#random = random;
  }

  /** The credential of the first key. */
  get first(): Credential {
    return FIRST.credential;
  }

  draw(): DrawnCredential {
    const wanted: KeyState = this.#random.chance(0.5) ? "good" : "powerless";
    const known = this.#keys.filter(({ state }) => state === wanted);
    if (known.length === 0 || this.#random.chance(0.7)) return { credential: FIRST.credential, isPowerless: false };
    const { credential, state } = this.#random.pick(known);
    return { credential, isPowerless: state === "powerless" };
  }

  /** A change of the key table. */
  command(name: string): OperatorCommand {
    const good = this.#keys.filter(({ state }) => state === "good");
    if (good.length === 0 || this.#random.chance(0.4)) {
      const key = keyOf(name, name);
      this.#keys.push(key);
      return createKey(key);
    }
    const { credential } = this.#random.pick(good);
    if (this.#random.chance(0.6)) return { kind: "revoke_api_key", keyId: credential.keyId };
    const next: RingKey = { ...keyOf(name, name), credential: { ...credential, keyId: keyIdOf(hashOfSecret(name)) } };
    this.#keys.push(next);
    const { keyHash } = next;
    const overlapMs = this.#random.pick([0, 3000]);
    return { kind: "rotate_api_key", keyId: credential.keyId, keyHash, overlapMs, expiresMs: 0 };
  }

  /** A key that no operator has made. It is not remembered: it must never be good. */
  foreign(name: string): OperatorCommand {
    return createKey(keyOf(`foreign ${name}`, name));
  }

  /** @param isApplied false: it was refused, or its outcome is open */
  learn(command: Command, isApplied: boolean): void {
    switch (command.kind) {
      case "create_api_key":
        this.#set(keyIdOf(command.key.keyHash), isApplied ? "good" : "unknown");
        break;
      case "revoke_api_key":
        this.#set(command.keyId, isApplied ? "powerless" : "unknown");
        break;
      case "rotate_api_key":
        // The old key ends at a time, and the next leader's clock may be behind that of the one which stamped it.
        this.#set(command.keyId, "unknown");
        this.#set(keyIdOf(command.keyHash), isApplied ? "good" : "unknown");
        break;
      default:
    }
  }

  #set(keyId: Uint8Array, state: KeyState): void {
    const key = this.#keys.find(({ credential }) => credential.keyId.every((byte, at) => byte === keyId[at]));
    // A key that was acknowledged as revoked stays so, whatever other command named it meanwhile.
    if (key !== undefined && key.state !== "powerless") key.state = state;
  }
}

function hashOfSecret(name: string): Uint8Array {
  return apiKeyHash(nodeCrypto.sha256(utf8ToBytes(`secret of key ${name}`)), nodeCrypto.sha256);
}

function keyIdOf(keyHash: Uint8Array): Uint8Array {
  return keyHash.slice(0, 16);
}

function keyOf(name: string, client: string): RingKey {
  const keyHash = hashOfSecret(name);
  const apiClientId = nodeCrypto.sha256(utf8ToBytes(`client ${client}`)).slice(0, 16);
  return { keyHash, credential: { apiClientId, keyId: keyIdOf(keyHash) }, state: "asked_for" };
}

/** A key that no life makes by itself. */
export function keyNamed(name: string): { readonly keyId: Uint8Array; readonly keyHash: Uint8Array } {
  const { keyHash, credential } = keyOf(name, name);
  return { keyId: credential.keyId, keyHash };
}

export function createKeyNamed(name: string): OperatorCommand {
  return createKey(keyOf(name, name));
}

function createKey({ keyHash, credential }: RingKey): OperatorCommand {
  const { apiClientId } = credential;
  const scopes = ["read", "write", "revoke", "admin"] as const;
  const key = { keyHash, apiClientId, label: "simulation", scopes, expiresMs: 0, requestsPerSecond: 0 };
  return { kind: "create_api_key", key };
}
