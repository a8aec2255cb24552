#!/usr/bin/env node
/**
 * Speaks JSON lines on stdin and stdout with the tests that hold the SDKs against one another: what the command line
 * says of the same receipts and bundles. It is no part of what is published. Needs the build.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { anchorctl } from "../dist/index.js";

const folder = mkdtempSync(join(tmpdir(), "anchorctl-crosscheck-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

function written(name, text) {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/** `anchorctl verify`, as a person types it: of a file whose receipt is a file, or of a bundle; with trust roots. */
async function verify(question) {
  const { op, content, receipt, bundle, trust_roots: roots, pinned_root_thk: pin } = question;
  const documents = roots.map((root, at) => ["--trust-root", written(`trust-root-${at}.txt`, root)]);
  const what =
    op === "verify_bundle"
      ? ["--bundle", written("event.bundle.json", bundle)]
      : [written("event", content), "--proof", written("proof", receipt)];
  const demand = question.require_witnessed === true ? ["--witnessed"] : [];
  let text = "";
  const stdout = { isTTY: false, write: (more) => (text += more) };
  const io = { stdout, stderr: { isTTY: false, write: () => undefined }, workingDir: folder, environment: {} };
  await anchorctl(["verify", ...what, ...documents.flat(), "--root-thk", pin, ...demand, "--json"], io);
  return JSON.parse(text);
}

/** In the words of the SDKs: a verdict of what was read, or why it was not. */
async function answer(question) {
  const said = await verify(question);
  return question.op === "verify_bundle" ? bundleAnswer(said) : receiptAnswer(said);
}

function receiptAnswer({ valid, failure, steps, ...said }) {
  if (steps === undefined) return { error: { code: failure } };
  const step = steps.find(({ result }) => result === "fail")?.code ?? null;
  return {
    ok: {
      verdict: valid ? "valid" : "invalid",
      step,
      code: failure,
      superseded_trust_root: said.superseded_trust_root,
      origin_lost: said.origin_lost,
      witnesses: said.witnesses.map(({ name, time }) => ({ name, witnessed_at: time })),
      witnessed: said.witnessed,
    },
  };
}

function bundleAnswer({ outcome, failure, checks, ...said }) {
  if (checks === undefined) return { error: { code: failure } };
  const { actor_proven, authorised_at_action, authorised_now, witnessed } = said;
  return {
    ok: {
      outcome,
      actor_proven,
      authorised_at_action,
      authorised_now,
      witnessed,
      fails: failure,
      not_checked: checks.flatMap(({ code, result }) => (result === "not_checked" ? [code] : [])),
    },
  };
}

for await (const line of createInterface({ input: process.stdin })) {
  if (line !== "") process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line)))}\n`);
}
