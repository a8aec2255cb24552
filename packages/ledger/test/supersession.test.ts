/** What ends a grant, and what ends with it. */
import { describe, expect, test } from "@jest/globals";
import type { LeafWrite } from "../src/index.ts";
import { codeOf } from "../../../test/worlds/ledger-harness.ts";
import { GrantWorld } from "../../../test/worlds/grant-world.ts";
import { grant, revocation } from "../../../test/worlds/signed-records.ts";
import type { Party } from "../../../test/worlds/signed-records.ts";

/** Alice grants to Bob, Bob to Carol, Carol to Dave. */
class ChainWorld extends GrantWorld {
  readonly root: LeafWrite;
  readonly middle: LeafWrite;
  readonly last: LeafWrite;

  constructor() {
    super();
    this.root = this.accept(this.alice, this.bob);
    this.middle = this.accept(this.bob, this.carol, { parent: this.root, delegationDepth: 2 });
    this.last = this.accept(this.carol, this.dave, { parent: this.middle, delegationDepth: 1 });
  }

  states(): string[] {
    return [this.root, this.middle, this.last].map((each) => this.state(each));
  }
}

describe("delegation depth", () => {
  test.each<[string, number, number, string]>([
    ["0 under 0", 0, 0, "depth_exceeded"],
    ["1 under 0", 0, 1, "depth_exceeded"],
    ["0 under 1", 1, 0, "accepted"],
    ["1 under 1", 1, 1, "depth_exceeded"],
    ["the largest under the largest", 0xffff_ffff, 0xffff_ffff, "depth_exceeded"],
    ["one less than the largest", 0xffff_ffff, 0xffff_fffe, "accepted"],
  ])("%s", (_, above, below, code) => {
    const world = new GrantWorld();
    const parent = world.accept(world.alice, world.bob, { delegationDepth: above });
    expect(world.code(world.bob, world.carol, { parent, delegationDepth: below })).toBe(code);
  });

  test("a root grant is bounded by nothing", () => {
    const world = new GrantWorld();
    expect(world.code(world.alice, world.bob, { delegationDepth: 0xffff_ffff })).toBe("accepted");
  });
});

describe("a newer grant between the same lineages", () => {
  test("ends the older one from its own sequence on, and nothing before", () => {
    const world = new ChainWorld();
    const newer = world.accept(world.alice, world.bob, { issuedAt: 1 });
    expect(world.record(world.root).supersededAt).toBe(newer.sequence);
    const at = (sequence: number): [string, string] => {
      const position = { sequence, timeMs: world.ledger.clockMs };
      return [world.state(world.root, position), world.state(world.last, position)];
    };
    expect(at(newer.sequence - 1)).toEqual(["active", "active"]);
    expect(at(newer.sequence)).toEqual(["superseded", "superseded"]);
  });

  test("takes with it what hangs on the older one", () => {
    const world = new ChainWorld();
    const newer = world.accept(world.alice, world.bob, { issuedAt: 1 });
    expect(world.states()).toEqual(["superseded", "superseded", "superseded"]);
    expect(world.faults(world.last)).toEqual(["grant_superseded"]);
    expect(world.code(world.carol, world.dave, { parent: world.middle, delegationDepth: 0 })).toBe(
      "grant_not_in_force",
    );
    const again = world.accept(world.bob, world.carol, { parent: newer, delegationDepth: 2 });
    expect(world.state(again)).toBe("active");
    expect(world.record(world.middle).supersededAt).toBe(again.sequence);
  });

  test("is of the lineages, not of the claims: a renewed party supersedes as well", () => {
    const world = new ChainWorld();
    const [alice, bob] = [world.renew(world.alice), world.renew(world.bob)];
    const newer = world.accept(alice, bob);
    expect(world.record(world.root).supersededAt).toBe(newer.sequence);
  });

  test("is another one in the other direction, or between other lineages", () => {
    const world = new ChainWorld();
    world.accept(world.bob, world.alice);
    world.accept(world.alice, world.carol);
    expect(world.states()).toEqual(["active", "active", "active"]);
  });

  test("may be narrower, or hang on another parent", () => {
    const world = new ChainWorld();
    const other = world.accept(world.dave, world.bob);
    const moved = world.accept(world.bob, world.carol, { parent: other, delegationDepth: 0 });
    expect(world.record(world.middle).supersededAt).toBe(moved.sequence);
    expect(world.states()).toEqual(["active", "superseded", "superseded"]);
    expect(world.state(moved)).toBe("active");
  });

  test("leaves a revoked one as it is", () => {
    const world = new ChainWorld();
    world.revoke("grant", world.root);
    const newer = world.accept(world.alice, world.bob, { issuedAt: 1 });
    expect(world.record(world.root).supersededAt).toBeNull();
    expect(world.states()).toEqual(["revoked", "revoked", "revoked"]);
    world.revoke("grant", newer);
    const third = world.accept(world.alice, world.bob, { issuedAt: 2 });
    expect(world.state(third)).toBe("active");
    expect(world.record(newer).supersededAt).toBeNull();
  });

  test("within one entry: the last one stands", () => {
    const { ledger, alice, bob } = new GrantWorld();
    const commands = [1, 2, 3].map((issuedAt) => grant(alice, bob, { issuedAt }));
    expect(ledger.runTogether(...commands).map(codeOf)).toEqual(["accepted", "accepted", "accepted"]);
    const [first, second, third] = [...ledger.tables.records.grants.values()];
    expect(first?.supersededAt).toBe(second?.sequence);
    expect(second?.supersededAt).toBe(third?.sequence);
    expect(third?.supersededAt).toBeNull();
  });
});

describe("a grant that descends from itself", () => {
  test("cannot be made by superseding an ancestor: it would end what it hangs on", () => {
    const world = new ChainWorld();
    const { alice, bob, carol, middle } = world;
    const back = world.accept(carol, alice, { parent: middle, delegationDepth: 1 });
    expect(world.code(alice, bob, { parent: back, delegationDepth: 0 })).toBe("parent_mismatch");
    expect(world.states()).toEqual(["active", "active", "active"]);
    expect(world.code(alice, bob, { delegationDepth: 0 })).toBe("accepted");
  });

  test("nor from a party to itself", () => {
    const world = new GrantWorld();
    const { alice } = world;
    const own = world.accept(alice, alice);
    expect(world.code(alice, alice, { parent: own, delegationDepth: 0 })).toBe("parent_mismatch");
    expect(world.state(own)).toBe("active");
  });

  test("a chain may pass through a party twice, where it takes nobody's place", () => {
    const world = new ChainWorld();
    const { alice, bob, dave, last } = world;
    const up = world.accept(dave, bob, { parent: last, delegationDepth: 0 });
    expect(world.record(up).links).toBe(4);
    expect(world.states()).toEqual(["active", "active", "active"]);
    expect(world.code(bob, alice, { parent: up, delegationDepth: 0 })).toBe("depth_exceeded");
  });
});

describe("what a grant hangs on", () => {
  test.each<[string, (world: ChainWorld) => unknown, string[], string[]]>([
    [
      "the root grant is revoked",
      (w) => w.revoke("grant", w.root),
      ["revoked", "revoked", "revoked"],
      ["grant_revoked"],
    ],
    [
      "the middle grant is revoked",
      (w) => w.revoke("grant", w.middle),
      ["active", "revoked", "revoked"],
      ["grant_revoked"],
    ],
    [
      "the root grantor's claim is revoked",
      (w) => w.revoke("claim", w.alice.claim),
      ["revoked", "revoked", "revoked"],
      ["grantor_claim_revoked"],
    ],
    [
      "a claim in the middle is revoked",
      (w) => w.revoke("claim", w.carol.claim),
      ["active", "revoked", "revoked"],
      ["grantor_claim_revoked", "grantee_claim_revoked"],
    ],
    ["a claim in the middle is renewed", (w) => w.renew(w.bob), ["active", "active", "active"], []],
    [
      "a claim that was renewed is revoked: the grants that name it end, and the lineage goes on",
      (w) => [w.renew(w.bob), w.revoke("claim", w.bob.claim)],
      ["revoked", "revoked", "revoked"],
      ["grantor_claim_revoked", "grantee_claim_revoked"],
    ],
    [
      "the renewed claim is revoked: the lineage ends",
      (w) => w.revoke("claim", w.renew(w.dave).claim),
      ["active", "active", "expired"],
      ["grantee_not_in_force"],
    ],
  ])("%s", (_, change, states, faults) => {
    const world = new ChainWorld();
    change(world);
    expect(world.states()).toEqual(states);
    expect(world.faults(world.last)).toEqual(faults);
  });

  test("an expired lineage is in force again once it is renewed, and so is what hangs on it", () => {
    const world = new GrantWorld();
    const { ledger, alice } = world;
    const expiresAt = ledger.clockMs + 1000;
    const frank: Party = world.renew({ name: "frank", claim: alice.claim }, expiresAt);
    const given = world.accept(alice, frank);
    ledger.clockMs = expiresAt;
    expect(world.state(given)).toBe("expired");
    expect(world.faults(given)).toEqual(["grantee_not_in_force"]);
    expect(world.code(frank, world.bob, { parent: given, delegationDepth: 0 })).toBe("claim_not_in_force");
    const renewed = world.renew(frank);
    expect(world.state(given)).toBe("active");
    expect(world.code(renewed, world.bob, { parent: given, delegationDepth: 0 })).toBe("accepted");
  });

  test("revoking a claim a sequence before, at, and after", () => {
    const world = new ChainWorld();
    const end = world.ledger.acceptRecord(revocation("claim", world.alice.claim, { by: "alice" }));
    const timeMs = world.ledger.clockMs;
    const stateAt = (sequence: number): string => world.state(world.last, { sequence, timeMs });
    expect([-1, 0, 1].map((offset) => stateAt(end.sequence + offset))).toEqual(["active", "revoked", "revoked"]);
    const claimAt = (sequence: number): string => world.claimState(world.alice.claim, { sequence, timeMs });
    expect([-1, 0, 1].map((offset) => claimAt(end.sequence + offset))).toEqual(["active", "revoked", "revoked"]);
  });

  test("a window ends at its very millisecond, and begins at its own", () => {
    const world = new GrantWorld();
    const { clockMs } = world.ledger;
    const given = world.accept(world.alice, world.bob, { notBefore: clockMs + 100, expiresAt: clockMs + 200 });
    const faultsAt = (timeMs: number): string[] => world.faults(given, { sequence: given.sequence, timeMs });
    expect(faultsAt(clockMs + 99)).toEqual(["grant_not_yet_valid"]);
    expect(faultsAt(clockMs + 100)).toEqual([]);
    expect(faultsAt(clockMs + 199)).toEqual([]);
    expect(faultsAt(clockMs + 200)).toEqual(["grant_expired"]);
    expect(world.state(given, { sequence: given.sequence, timeMs: clockMs })).toBe("active");
  });

  test("a parent that has ended takes no further grant, whichever of its links has", () => {
    const world = new ChainWorld();
    const { carol, dave, middle, root, ledger } = world;
    const before = { parent: middle, delegationDepth: 0 };
    const outcomes = ledger.runTogether(
      grant(carol, dave, before),
      revocation("grant", root, { by: "witness" }),
      grant(carol, dave, { ...before, issuedAt: 1 }),
    );
    expect(outcomes.map(codeOf)).toEqual(["accepted", "accepted", "grant_not_in_force"]);
  });
});
