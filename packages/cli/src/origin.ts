import { hashAt } from "./answer-fields.ts";
import { expectStatus } from "./service.ts";
import type { Service } from "./service.ts";
import type { Target } from "./target.ts";

/** The origin to write to: the one that was given, else that of a node that answers. 64 hex digits. */
export async function originToWrite(service: Service, target: Target): Promise<string> {
  if (target.originFingerprint !== null) return target.originFingerprint;
  const health = expectStatus(await service.ask({ method: "GET", path: "/healthz" }), 200);
  return hashAt(health.body, "origin_fingerprint");
}
