/** What the proof page shows of a receipt or a bundle, in the words of the SDKs. For tests; it is not published. */
import { BUNDLE_CHECKS } from "@event-anchoring/bundle";

/** `NOT VALID (code): step: …` of what was judged, `NOT VALID: … (code)` of what cannot be read. */
const REFUSED = /^NOT VALID(?: \((?<code>\w+)\))?: .*?(?:\((?<unread>\w+)\))?$/su;
const TRUST_ROOT_REFUSED = /^NOT VALID \(\w+\): the trust root is not valid: /u;
const OUTCOMES = { pass: "valid", warn: "valid_as_stated", fail: "invalid" };
/** By the label of their line; other lines say what the checks come to. */
const CHECK_OF = new Map(BUNDLE_CHECKS.map((code) => [code.replace("_", " "), code]));

/** What is dropped on the page for a question, in order. */
export function filesOf({ op, content, receipt, bundle, trust_roots: roots = [] }) {
  const documents = roots.map((text, at) => ({ name: `trust-root-${at + 1}.txt`, text }));
  if (op === "verify_bundle") return [{ name: "event.bundle.json", text: bundle }, ...documents];
  // The wire form has no name of its own.
  const own =
    typeof receipt === "string"
      ? { name: "event.tlog-proof", text: receipt }
      : { name: "receipt.json", text: JSON.stringify(receipt) };
  return [{ name: "event", text: content }, own, ...documents];
}

/**
 * @param question as the SDKs are asked
 * @param verdicts the cards of the page: `kind`, `mark`, `text`, and `steps` of `mark` and `label`
 */
export function answerOf({ op, receipt, trust_roots: roots }, verdicts) {
  const kind = op === "verify_bundle" ? "bundle" : "receipt";
  const shown = verdicts.find((verdict) => verdict.kind === kind);
  if (shown !== undefined) return kind === "bundle" ? bundleAnswer(shown, roots !== undefined) : receiptAnswer(shown);
  // JSON that is no receipt is to the page a file like any other, on which it has no verdict.
  if (kind === "receipt" && typeof receipt !== "string") return { error: { code: "proof_malformed" } };
  throw new Error(`no verdict on the ${kind}: ${JSON.stringify(verdicts)}`);
}

function receiptAnswer({ mark, text, steps }) {
  if (mark === "pass") return { ok: { verdict: "valid", step: null, code: null } };
  const { code, unread } = REFUSED.exec(text)?.groups ?? {};
  const failed = steps.find((step) => step.mark === "fail");
  if (failed === undefined) return { error: { code: code ?? unread } };
  return { ok: { verdict: "invalid", step: failed.label.replaceAll(" ", "_"), code } };
}

/** @param isTrustGiven whether trust roots came beside the bundle, and not in it alone */
function bundleAnswer({ mark, text, steps }, isTrustGiven) {
  const codes = (wanted) => steps.flatMap((step) => (step.mark === wanted ? (CHECK_OF.get(step.label) ?? []) : []));
  if (steps.length > 0) {
    const outcome = OUTCOMES[mark];
    if (outcome === "invalid") return { ok: { outcome, fails: codes("fail")[0] ?? null } };
    return { ok: { outcome, fails: null, not_checked: codes("warn") } };
  }
  const isTrustRefused = TRUST_ROOT_REFUSED.test(text) || text.startsWith("NO TRUST ROOT");
  if (isTrustRefused && !isTrustGiven) return { ok: { outcome: "invalid", fails: "trust_roots" } };
  const { code, unread } = REFUSED.exec(text)?.groups ?? {};
  return { error: { code: code ?? unread } };
}
