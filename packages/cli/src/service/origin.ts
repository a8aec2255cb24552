import { readers } from "@event-anchoring/sdk";
import type { Service } from "./service.ts";
import type { Target } from "../files/target.ts";

const readOrigin = readers.record({ originFingerprint: readers.hex32 });

/** The origin to write to: the one that was given, else that of a node that answers. 64 hex digits. */
export async function originToWrite(service: Service, target: Target): Promise<string> {
  if (target.originFingerprint !== null) return target.originFingerprint;
  return (await service.read({ path: "/healthz" }, readOrigin)).originFingerprint;
}
