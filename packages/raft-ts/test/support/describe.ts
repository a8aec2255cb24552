import type {
  AppendChore,
  ApplyChore,
  ConfState,
  EntryMeta,
  Entry,
  Message,
  Ready,
  SnapshotMeta,
  Status,
} from "../../src/index.ts";

/** Texts of transcripts: one line per thing, nothing that is zero or empty. */

const text = new TextDecoder();

export function describeConf(conf: ConfState): string {
  const outgoing = conf.votersOutgoing.length > 0 ? `&&(${conf.votersOutgoing.join(" ")})` : "";
  const learners = conf.learners.length > 0 ? ` learners=(${conf.learners.join(" ")})` : "";
  const next = conf.learnersNext.length > 0 ? ` learnersNext=(${conf.learnersNext.join(" ")})` : "";
  return `voters=(${conf.voters.join(" ")})${outgoing}${learners}${next}${conf.autoLeave ? " autoLeave" : ""}`;
}

export function describeSnapshot(snapshot: SnapshotMeta): string {
  return `${snapshot.index}/${snapshot.term} ${describeConf(snapshot.confState)}`;
}

/** index/term, and what it holds: its bytes where they are at hand, else their number. */
export function describeEntry(entry: Entry | EntryMeta): string {
  const kind = entry.type === "conf_change" ? " conf" : "";
  const size = "payloadBytes" in entry ? entry.payloadBytes : entry.payload.length;
  if (entry.payload === undefined || entry.type === "conf_change" || size > 64)
    return `${entry.index}/${entry.term}${kind} ${size}B`;
  return `${entry.index}/${entry.term} ${JSON.stringify(text.decode(entry.payload))}`;
}

function describeContext(context: Uint8Array): string {
  const isText = context.every((byte) => byte >= 0x20 && byte < 0x7f);
  return isText ? JSON.stringify(text.decode(context)) : `0x${Buffer.from(context).toString("hex")}`;
}

export function describeMessage(message: Message): string {
  const parts = [`${describeNode(message.from)}->${describeNode(message.to)} ${message.type}`];
  if (message.term > 0) parts.push(`term=${message.term}`);
  if (message.index > 0 || message.logTerm > 0) parts.push(`log=${message.index}/${message.logTerm}`);
  if (message.commit > 0) parts.push(`commit=${message.commit}`);
  if (message.reject) parts.push(`reject hint=${message.rejectHint}`);
  if (message.context.length > 0) parts.push(`context=${describeContext(message.context)}`);
  if (message.entries.length > 0) parts.push(`entries=[${message.entries.map(describeEntry).join(", ")}]`);
  if (message.snapshot !== null) parts.push(`snapshot=[${describeSnapshot(message.snapshot)}]`);
  return parts.join(" ");
}

function describeNode(id: bigint): string {
  if (id === 0xffff_ffff_ffff_ffffn) return "append";
  return id === 0xffff_ffff_ffff_fffen ? "apply" : String(id);
}

export function describeReady(ready: Ready): string[] {
  const lines: string[] = [];
  if (ready.softState !== null) lines.push(`${ready.softState.role}, leader ${ready.softState.leader}`);
  for (const read of ready.readStates) lines.push(`read ${describeContext(read.context)} at ${read.index}`);
  for (const message of ready.messages) lines.push(`send ${describeMessage(message)}`);
  if (ready.append !== null) lines.push(...describeAppend(ready.append));
  if (ready.apply !== null) lines.push(...describeApply(ready.apply));
  return lines;
}

function describeAppend(chore: AppendChore): string[] {
  const parts: string[] = ["append"];
  if (chore.snapshot !== null) parts.push(`snapshot=[${describeSnapshot(chore.snapshot)}]`);
  if (chore.entries.length > 0) parts.push(`entries=[${chore.entries.map(describeEntry).join(", ")}]`);
  if (chore.hardState !== null) {
    const { term, vote, commit } = chore.hardState;
    parts.push(`hard=(term ${term} vote ${vote} commit ${commit})`);
  }
  return [parts.join(" "), ...chore.responses.map((response) => `  then ${describeMessage(response)}`)];
}

function describeApply(chore: ApplyChore): string[] {
  return [
    `apply [${chore.entries.map(describeEntry).join(", ")}]`,
    ...chore.responses.map((response) => `  then ${describeMessage(response)}`),
  ];
}

export function describeStatus(status: Status): string[] {
  const { id, role, lead, term, vote, commit, applied, firstIndex, lastIndex } = status;
  const transfer = status.leadTransferee === 0n ? "" : ` transferring to ${status.leadTransferee}`;
  const lines = [
    `${id}: ${role}, leader ${lead}, term ${term}, vote ${vote}, log [${firstIndex},${lastIndex}], ` +
      `commit ${commit}, applied ${applied}${transfer}`,
  ];
  for (const [peer, progress] of status.progress) {
    const { match, next, state, recentActive, isLearner } = progress;
    const flags = `${recentActive ? "" : " inactive"}${isLearner ? " learner" : ""}`;
    lines.push(`  ${peer}: ${state} match=${match} next=${next}${flags}`);
  }
  return lines;
}
