import { bytesToHex, hexToBytes } from "@event-anchoring/protocol";
import { certifiedAtS, cosignersOf, isoSeconds, reasonText, short, shownVerdict } from "@event-anchoring/verdicts";
import { checkReceipt, isProved, parseStated } from "../reports/check-receipt.ts";
import type { CheckedReceipt, TrustOptions } from "../reports/check-receipt.ts";
import { EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import { Play, hashOf } from "../demo/play.ts";
import type { Current, Recorded, Verified } from "../demo/play.ts";
import { printSteps } from "../reports/describe-receipt.ts";
import { printFindings, printTree } from "../reports/describe-trace.ts";
import { Printer } from "../terminal/printer.ts";
import { Service } from "../service/service.ts";
import type { Fields } from "../service/service.ts";
import { alignColumns } from "../terminal/table.ts";
import { apiKeyOf } from "../files/target.ts";
import type { Target } from "../files/target.ts";
import type { GivenPin } from "../files/trust-roots.ts";
import type { ShownTrace } from "../service/trace-answer.ts";

export interface DemoOptions {
  readonly trustRoots: readonly string[];
  readonly pin: GivenPin | null;
  readonly timeoutMs: number;
  readonly isJson: boolean;
  readonly workingDir: string;
}

const PARTY_NAMES = ["issuer", "deployer", "agent", "witness"] as const;
const FIRST_ACT = "deploy build 1842 to staging";
const SECOND_ACT = "deploy build 1843 to staging";

/**
 * `anchorctl demo`: the recommended flow on the running cluster. Register, delegate, act, trace, verify, withdraw, act
 * again, and hold the two acts side by side. Exit `invalid` if the service judges them otherwise than the protocol.
 */
export async function demoCommand(options: DemoOptions, target: Target, printer: Printer): Promise<ExitCode> {
  const { apiUrls, onWait } = target;
  const service = new Service({ apiUrls, apiKey: apiKeyOf(target), timeoutMs: options.timeoutMs, onWait });
  const stage = new Stage(options.isJson ? silent() : printer, await Play.begin(service));
  const shown = await stage.play();
  const checked = stage.showReceipt(shown, { ...options, clusterFolder: target.clusterFolder });
  const surprises = surprisesIn(shown);
  if (options.isJson) printer.json(asJson(shown, checked, surprises));
  else stage.end(surprises);
  return surprises.length === 0 ? EXIT.ok : EXIT.invalid;
}

/** A printer without output: with --json the demo does the same. */
function silent(): Printer {
  return new Printer({ isTTY: false, write: () => undefined }, {});
}

/** All that came back, for --json and for the last word. */
interface Shown {
  readonly play: Play;
  readonly deployer: Recorded;
  readonly agent: Recorded;
  readonly currentClaims: readonly Current[];
  readonly grant: Recorded;
  readonly currentGrant: Current;
  readonly firstAct: Recorded;
  readonly firstTrace: ShownTrace;
  readonly verified: Readonly<Record<"deployer" | "agent" | "grant" | "act", Verified>>;
  readonly revocation: Recorded;
  readonly grantAfter: Verified;
  readonly currentAfter: Current;
  readonly secondAct: Recorded;
  readonly traces: { readonly first: ShownTrace; readonly second: ShownTrace };
  readonly receipt: Fields;
}

class Stage {
  readonly #printer: Printer;
  readonly #play: Play;
  readonly #names = new Map<string, string>();
  #step = 0;

  constructor(printer: Printer, play: Play) {
    this.#printer = printer;
    this.#play = play;
  }

  async play(): Promise<Shown> {
    const before = await this.#delegateAndAct();
    const after = await this.#withdrawAndActAgain(before);
    const receipt = await this.#play.receiptOf(before.firstAct);
    return { play: this.#play, ...before, ...after, receipt };
  }

  async #delegateAndAct() {
    const { parties, scope, origin, apiUrl } = this.#play;
    this.#printer.heading("A responsibility chain in one minute");
    this.#printer.line(`  ${apiUrl}, origin ${short(origin)}`);

    this.#begin("Four parties, each with a key of its own", "made in memory, and dropped at the end");
    for (const name of PARTY_NAMES) {
      this.#printer.check("skip", name, `key ${short(bytesToHex(parties[name].publicKey))}`);
    }

    this.#begin("Who is who: each subject signs, then the issuer", "→ POST /v1/claim-anchors, → GET /v1/claim-anchors");
    const deployer = this.#show("deployer", await this.#play.register("deployer"), "claim, signed twice");
    const agent = this.#show("agent", await this.#play.register("agent"), "claim, signed twice");
    const currentClaims = [await this.#play.currentClaim("deployer"), await this.#play.currentClaim("agent")];
    for (const current of currentClaims) this.#showCurrent(current);

    this.#begin(
      `Who may do what: the deployer lets the agent "${scope}"`,
      "→ POST /v1/grant-anchors, → GET /v1/grant-anchors",
    );
    const grant = this.#show(
      "grant",
      await this.#play.delegate(deployer.anchorId, agent.anchorId),
      "for an hour, no further hop, signed by grantor and witness",
    );
    const currentGrant = await this.#play.currentGrant();
    this.#showCurrent(currentGrant);

    this.#begin(`The agent acts: "${FIRST_ACT}"`, "→ POST /v1/event-anchors");
    const firstAct = await this.#act("first act", FIRST_ACT, agent, grant);

    this.#begin("Who acted, who delegated, within what bounds?", "→ GET /v1/event-anchors/{anchor_id}/trace");
    const firstTrace = await this.#trace(firstAct);

    this.#begin(
      "The same in single checks",
      "→ POST /v1/claim-anchors:verify, grant-anchors:verify, event-anchors:verify",
    );
    const verified = {
      deployer: this.#showVerified("deployer", await this.#play.verify("claim", deployer.anchorId)),
      agent: this.#showVerified("agent", await this.#play.verify("claim", agent.anchorId)),
      grant: this.#showVerified("grant", await this.#play.verify("grant", grant.anchorId)),
      act: this.#showVerified("first act", await this.#play.verify("event", firstAct.anchorId)),
    };
    return { deployer, agent, currentClaims, grant, currentGrant, firstAct, firstTrace, verified };
  }

  async #withdrawAndActAgain({ agent, grant, firstAct }: Pick<Shown, "agent" | "grant" | "firstAct">) {
    this.#begin("The deployer revokes the grant", "→ POST /v1/grant-anchors/{anchor_id}/revoke");
    const withdrawn = await this.#play.withdraw(grant.anchorId);
    const revocation = this.#show("revocation", withdrawn, "privilege_withdrawn, signed by the grantor");
    const currentAfter = await this.#play.currentGrant();
    this.#showCurrent(currentAfter);
    const grantAfter = this.#showVerified("grant", await this.#play.verify("grant", grant.anchorId));

    this.#begin(
      `The agent acts again: "${SECOND_ACT}"`,
      "→ POST /v1/event-anchors: it is recorded all the same, because an audit log holds such acts, too",
    );
    const secondAct = await this.#act("second act", SECOND_ACT, agent, grant);

    this.#begin("What trace says of the second act", "→ GET /v1/event-anchors/{anchor_id}/trace");
    const second = await this.#trace(secondAct);

    this.#begin("The two acts side by side", "→ GET /v1/event-anchors/{anchor_id}/trace, of the first act once more");
    const first = await this.#play.trace(firstAct.anchorId);
    this.#compare({ first, second });
    return { revocation, currentAfter, grantAfter, secondAct, traces: { first, second } };
  }

  showReceipt({ receipt, firstAct }: Shown, trust: TrustOptions): CheckedReceipt | null {
    this.#begin("One receipt, checked offline", "the first act's, against the trust root, without the service");
    const expect = { eventHash: hexToBytes(hashOf(FIRST_ACT), 32), anchorId: hexToBytes(firstAct.anchorId, 32) };
    const checked = checkReceipt(parseStated(receipt), expect, trust);
    if (checked === null) {
      this.#printer.check("warn", "receipt", "not checked: there is no trust root here (--trust-root)");
    } else {
      printSteps(this.#printer, checked.verification, checked.held, "the SHA-256 of the words in quotes");
    }
    return checked;
  }

  end(surprises: readonly string[]): void {
    this.#printer.line();
    for (const surprise of surprises) this.#printer.check("fail", "unexpected", surprise);
    const text =
      surprises.length === 0
        ? "Both acts are on record for good; only the first was authorised when it happened."
        : "NOT VALID: the service judged otherwise than the protocol says.";
    this.#printer.verdict(surprises.length === 0 ? "pass" : "fail", text);
    const [first = ""] = [...this.#names].flatMap(([id, name]) => (name === "first act" ? [id] : []));
    if (surprises.length === 0) this.#printer.line(`Look again: ${this.#printer.next("trace", first)}`);
  }

  #begin(title: string, request: string): void {
    this.#step += 1;
    this.#printer.line();
    this.#printer.heading(`${this.#step}. ${title}`);
    this.#printer.line(this.#printer.dim(`  ${request}`));
  }

  #show(name: string, recorded: Recorded, what: string): Recorded {
    this.#names.set(recorded.anchorId, name);
    const certified = recorded.receipt === null ? "committed" : "certified";
    const where = `sequence ${recorded.sequence}, ${certified} in ${Math.ceil(recorded.tookMs)} ms`;
    this.#printer.check("pass", name, `${short(recorded.anchorId)}  ${what}; ${where}`);
    return recorded;
  }

  #showCurrent({ anchorId, word }: Current): void {
    if (anchorId === null) this.#printer.check("skip", "current", `none (${word})`);
    else this.#printer.check("pass", "current", `${short(anchorId)}  ${this.#names.get(anchorId) ?? "?"}, ${word}`);
  }

  #showVerified(name: string, verified: Verified): Verified {
    const failed = verified.failed.length === 0 ? "" : `, failed: ${verified.failed.join(", ")}`;
    const passed = `${verified.passed} ${verified.passed === 1 ? "check" : "checks"} passed`;
    const text = `${verified.isValid ? "valid" : "not valid"}: ${passed}${failed}`;
    this.#printer.check(verified.isValid ? "pass" : "fail", name, text);
    return verified;
  }

  async #act(name: string, act: string, agent: Recorded, grant: Recorded): Promise<Recorded> {
    const recorded = await this.#play.act(act, agent.anchorId, grant.anchorId);
    return this.#show(name, recorded, "names claim and grant, signed by the agent");
  }

  async #trace(recorded: Recorded): Promise<ShownTrace> {
    const trace = await this.#play.trace(recorded.anchorId);
    printTree(this.#printer, trace, this.#names);
    printFindings(this.#printer, trace, this.#names);
    return trace;
  }

  #compare({ first, second }: Shown["traces"]): void {
    const cell = (verdict: ShownTrace["authorisedNow"], { actorProven }: ShownTrace): string => {
      const { mark, word } = shownVerdict(verdict, actorProven);
      return `${this.#printer.sign(mark)} ${word}`;
    };
    const row = (name: string, trace: ShownTrace): string[] => {
      const reason = trace.reasons[0];
      const why = reason === undefined ? "" : reasonText(reason, this.#names);
      return [name, cell(trace.authorisedAtAction, trace), cell(trace.authorisedNow, trace), why];
    };
    const rows = [["authorised?", "when it happened", "now", ""], row("first act", first), row("second act", second)];
    for (const line of alignColumns(rows)) this.#printer.line(`  ${line}`);
  }
}

/** Where the service's answers differ from what the protocol says of this play. Empty: nowhere. */
function surprisesIn(shown: Shown): readonly string[] {
  const { firstTrace, traces, verified, grantAfter, grant, deployer, agent, currentClaims } = shown;
  const expected: readonly (readonly [string, boolean])[] = [
    ["the deployer's claim is the current one", currentClaims[0]?.anchorId === deployer.anchorId],
    ["the agent's claim is the current one", currentClaims[1]?.anchorId === agent.anchorId],
    ["the grant is the current one", shown.currentGrant.anchorId === grant.anchorId],
    ["both claims, the grant and the act verify", Object.values(verified).every(({ isValid }) => isValid)],
    ["the first act is authorised", firstTrace.authorisedAtAction === true && firstTrace.authorisedNow === true],
    ["no grant is current after the revocation", shown.currentAfter.anchorId === null],
    ["the revoked grant does not verify", !grantAfter.isValid && grantAfter.failed.includes("revocation")],
    ["the first act stays authorised at action", traces.first.authorisedAtAction === true],
    ["the first act is not authorised now", traces.first.authorisedNow === false],
    ["the second act was not authorised", traces.second.authorisedAtAction === false],
    ["the second act is not authorised now", traces.second.authorisedNow === false],
    ["both acts are proven to be the agent's", [traces.first, traces.second].every((it) => it.actorProven)],
    ["no trace shows a violation", [traces.first, traces.second].every((it) => it.violations.length === 0)],
  ];
  return expected.flatMap(([what, isMet]) => (isMet ? [] : [`not so: ${what}`]));
}

function asJson(shown: Shown, checked: CheckedReceipt | null, surprises: readonly string[]): object {
  const { play, traces } = shown;
  return {
    as_expected: surprises.length === 0,
    surprises,
    api_url: play.apiUrl,
    origin_fingerprint: play.origin,
    deployer: { entity_fingerprint: play.entity("deployer"), claim_anchor_id: shown.deployer.anchorId },
    agent: { entity_fingerprint: play.entity("agent"), claim_anchor_id: shown.agent.anchorId },
    grant_anchor_id: shown.grant.anchorId,
    revocation_anchor_id: shown.revocation.anchorId,
    first_act: {
      anchor_id: shown.firstAct.anchorId,
      before_revocation: verdicts(shown.firstTrace),
      ...verdicts(traces.first),
    },
    second_act: { anchor_id: shown.secondAct.anchorId, ...verdicts(traces.second) },
    verified: {
      deployer: shown.verified.deployer.isValid,
      agent: shown.verified.agent.isValid,
      grant: shown.verified.grant.isValid,
      first_act: shown.verified.act.isValid,
      grant_after_revocation: { valid: shown.grantAfter.isValid, failed: shown.grantAfter.failed },
    },
    receipt: receiptJson(checked),
  };
}

function verdicts({ actorProven, authorisedAtAction, authorisedNow, actor, reasons }: ShownTrace): object {
  return {
    actor_proven: actorProven,
    authorised_at_action: authorisedAtAction,
    authorised_now: authorisedNow,
    actor_signature: actor.actorSignature,
    reasons: reasons.map(({ verdict, code, anchorId, sequence }) => ({
      verdict,
      code,
      anchor_id: anchorId,
      sequence,
    })),
  };
}

function receiptJson(checked: CheckedReceipt | null): object {
  if (checked === null) return { verified: false, certified_at: null, cosigners: [] };
  const at = certifiedAtS(checked.verification, checked.held.chain);
  return {
    verified: isProved(checked),
    certified_at: at === null ? null : isoSeconds(at),
    cosigners: cosignersOf(checked.verification).map(({ name }) => name),
  };
}
