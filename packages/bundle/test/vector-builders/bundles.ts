import { bytesToHex } from "@event-anchoring/protocol";
import { alteredBundles } from "./bundle-altered.ts";
import { bundleJson } from "./bundle-cases.ts";
import type { BadCase, GoodCase, Reader, Source } from "./bundle-cases.ts";
import { goodBundles } from "./bundle-good.ts";
import { forgedBundles } from "./bundle-forged.ts";
import { equalTexts, malformedBundles } from "./bundle-malformed.ts";
import { NAMED } from "./bundle-named.ts";
import { badWitnessedBundles, goodWitnessedBundles } from "./bundle-witnessed.ts";
import type { Json } from "../../../../test/vector-builders/json.ts";

function readerJson(reader: Reader | undefined, pin: Uint8Array): { readonly [name: string]: Json } {
  const { highestSeen, anchorId, eventHash, requireWitnessed } = reader ?? {};
  return {
    pinned_root_thk: bytesToHex(reader?.pin ?? pin),
    ...(highestSeen === undefined
      ? {}
      : { highest_seen: { version: highestSeen.version, root_thk: bytesToHex(highestSeen.rootThk) } }),
    ...(anchorId === undefined && eventHash === undefined
      ? {}
      : {
          expect: {
            ...(anchorId === undefined ? {} : { anchor_id: bytesToHex(anchorId) }),
            ...(eventHash === undefined ? {} : { event_hash: bytesToHex(eventHash) }),
          },
        }),
    ...(requireWitnessed === undefined ? {} : { require_witnessed: requireWitnessed }),
  };
}

function sourceJson(source: Source): { readonly [name: string]: Json } {
  if ("bundle" in source) return { bundle: bundleJson(source.bundle) };
  return { of: source.of, changes: source.changes.map(([at, to]) => ({ at, to })) };
}

function pinOf(source: Source): Uint8Array {
  return "bundle" in source ? source.world.pin : NAMED[source.of].world.pin;
}

export function goodJson({ name, source, reader, ...expected }: GoodCase): Json {
  const {
    outcome,
    isActorProven = true,
    atAction,
    now,
    reasons,
    notChecked,
    complete,
    superseded,
    isWitnessed,
    standing,
    scopes,
  } = expected;
  return {
    name,
    ...readerJson(reader, pinOf(source)),
    outcome,
    actor_proven: isActorProven,
    authorised_at_action: atAction,
    authorised_now: now,
    ...(reasons === undefined ? {} : { reasons_at_action: reasons }),
    not_checked: notChecked ?? [],
    complete: complete === null ? null : { after: complete[0], to: complete[1] },
    superseded_trust_root: superseded ?? null,
    ...(isWitnessed === true ? { witnessed: true } : {}),
    ...(standing === undefined ? {} : { state: standing[0], in_force: standing[1] }),
    ...(scopes === undefined ? {} : { scopes }),
    ...sourceJson(source),
  };
}

export function badJson({ name, source, reader, fails, code }: BadCase): Json {
  const named = code === undefined ? {} : { code };
  return { name, ...readerJson(reader, pinOf(source)), fails, ...named, ...sourceJson(source) };
}

export function bundleVectors(): Json {
  return {
    about:
      "Bundles. A case has a `bundle`, or is the one of `bundles` that `of` names with the members at " +
      "`changes[].at` (RFC 6901) set to `to`. It is judged by `pinned_root_thk`, and by `highest_seen`, `expect` " +
      "and `require_witnessed` where they are given. good: all checks pass but for those in `not_checked`; " +
      "`reasons_at_action`, where they are given, are the codes of why the act was not authorised; `witnessed` is " +
      "true if every head is witnessed. bad: `fails` is the one that fails, and its detail has `code` where it is " +
      "given; none after it is made, and both verdicts are unknown. malformed: `text` is refused with " +
      "`error`. equal: `text` can be read.",
    bundles: { whole: bundleJson(NAMED.whole.bundle), singles: bundleJson(NAMED.singles.bundle) },
    good: [...goodBundles(), ...goodWitnessedBundles()].map(goodJson),
    bad: [...alteredBundles(), ...forgedBundles(), ...badWitnessedBundles()].map(badJson),
    equal: equalTexts().map(([name, text]) => ({ name, text })),
    malformed: malformedBundles().map(([name, error, text]) => ({ name, error, text })),
  };
}
