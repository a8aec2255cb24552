import { isoMs } from "@event-anchoring/verdicts";
import type { Mark } from "@event-anchoring/verdicts";
import type { JSX } from "preact";
import type { NodeHealth } from "../browse/node-service.ts";
import type { NodeWord as Word } from "../browse/watch.ts";
import { MarkSign } from "./mark-sign.tsx";

interface Line {
  readonly mark: Mark;
  readonly label: string;
  readonly detail: string;
}

/** A node says of itself that it is well: that is no proof, so nothing here is green. */
function healthLines({
  status,
  primeRootThk,
  raft,
  contradictions,
  peersCutOff,
  versions,
  nodeId,
}: NodeHealth): Line[] {
  const named = [...(contradictions?.named ?? []), ...(contradictions?.origins ?? [])];
  const cutOff = peersCutOff?.map((peer) => peer.nodeId).join(", ") ?? "";
  const { version, inSync, lastError } = primeRootThk;
  const sync = inSync ? `version ${version}, confirmed by a quorum` : `version ${version}, not confirmed`;
  return [
    { mark: status === "ok" ? "skip" : "warn", label: nodeId, detail: `${status}, release ${versions.service}` },
    {
      mark: inSync ? "skip" : "warn",
      label: "trust root",
      detail: lastError === null ? sync : `${sync}: ${lastError}`,
    },
    ...(raft === null
      ? []
      : [
          {
            mark: raft.leader === null ? ("warn" as const) : ("skip" as const),
            label: "consensus",
            detail: `${raft.role}, leader ${raft.leader ?? "none"}, applied ${raft.appliedIndex}`,
          },
        ]),
    ...(named.length === 0
      ? []
      : [{ mark: "fail" as const, label: "contradictions", detail: `evidence against ${named.join(", ")}` }]),
    ...(cutOff === "" ? [] : [{ mark: "warn" as const, label: "cut off", detail: `does not listen to ${cutOff}` }]),
  ];
}

export function NodeWord({ word }: { readonly word: Word }): JSX.Element {
  const { health, readiness, askedAtMs } = word;
  const checks =
    readiness?.checks.map(({ check, result, detail }): Line => {
      return { mark: result === "pass" ? "skip" : result, label: check.replaceAll("_", " "), detail };
    }) ?? [];
  const lines = [...(health === null ? [] : healthLines(health)), ...checks];
  return (
    <section aria-labelledby="node">
      <h2 id="node">The node and its cluster</h2>
      <p class="quiet">
        What the node says of itself and of the others, at {isoMs(askedAtMs).slice(11, 19)} UTC. It proves nothing, so
        nothing of it is green.
      </p>
      {lines.length === 0 && <p class="empty">The node says nothing about itself.</p>}
      <ol class="plain-list">
        {lines.map(({ mark, label, detail }, at) => (
          <li key={at} class="step">
            <MarkSign mark={mark} />
            <span class="label">{label}</span>
            <span class="detail">{detail}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
