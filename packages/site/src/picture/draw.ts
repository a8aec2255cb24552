import type { Demo, Leaf } from "./demo.ts";

/** All in units of the picture, which is as wide as its leaves. */
const BOX = { width: 138, height: 92, gap: 10 };
const TOP = 84;
const LEVEL = 44;
const EDGE = 2;

const step = BOX.width + BOX.gap;
const centreOf = (at: number): number => EDGE + at * step + BOX.width / 2;

function text(x: number, y: number, words: string, name: string): string {
  const escaped = words.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  return `<text class="${name}" x="${x}" y="${y}" text-anchor="middle">${escaped}</text>`;
}

function verdict({ isAuthorised }: Leaf, x: number): readonly string[] {
  if (isAuthorised === null) return [];
  const words = isAuthorised ? "✓ authorised" : "✗ not authorised";
  return [text(x, TOP + 81, words, isAuthorised ? "verdict good" : "verdict bad")];
}

function box(leaf: Leaf, at: number): readonly string[] {
  const x = centreOf(at);
  const kind = leaf.isRevocation || leaf.isAuthorised === false ? "bad" : leaf.isAuthorised === true ? "good" : "plain";
  const left = EDGE + at * step;
  return [
    `<rect class="box ${kind}" x="${left}" y="${TOP}" width="${BOX.width}" height="${BOX.height}" rx="8"/>`,
    text(x, TOP + 23, leaf.role.replace(/ to staging$/u, ""), "role"),
    text(x, TOP + 43, `${leaf.anchorId.slice(0, 12)}…`, "hash"),
    text(x, TOP + 61, `${leaf.time} UTC`, "time"),
    ...verdict(leaf, x),
  ];
}

/** From a leaf to an earlier one that it names; the higher, the further apart they are. */
function arc(leaf: Leaf, at: number, to: number): string {
  const [x1, x2] = [centreOf(at) - 14, centreOf(to) + 14];
  const y = TOP - 14 - 20 * (at - to);
  const name = leaf.isRevocation ? "arc bad" : "arc";
  return `<path class="${name}" d="M${x1} ${TOP} C${x1} ${y} ${x2} ${y} ${x2} ${TOP - 5}" marker-end="url(#tip)"/>`;
}

interface Drawn {
  readonly x: number;
  readonly y: number;
  readonly lines: readonly string[];
}

/** The tree of RFC 6962 over leaves `from` to `to`, that one excluded, upside down: the root is below. */
function tree(from: number, to: number, bottom: number): Drawn {
  if (to - from === 1) return { x: centreOf(from), y: bottom, lines: [] };
  const split = from + 2 ** Math.ceil(Math.log2(to - from) - 1);
  const parts = [tree(from, split, bottom), tree(split, to, bottom)];
  const x = parts.reduce((sum, part) => sum + part.x, 0) / parts.length;
  const y = Math.max(...parts.map((part) => part.y)) + LEVEL;
  const lines = parts.map((part) => `<path class="branch" d="M${part.x} ${part.y} L${x} ${y}"/>`);
  const knot = `<circle class="knot" cx="${x}" cy="${y}" r="4"/>`;
  return { x, y, lines: [...parts.flatMap((part) => part.lines), ...lines, knot] };
}

function signers({ nodes, rootHash }: Demo, { x, y }: Drawn): readonly string[] {
  const count = nodes.filter(({ hasSigned }) => hasSigned).length;
  const words = nodes.map(({ name, hasSigned }) => `${name} ${hasSigned ? "✓" : "–"}`).join("   ");
  return [
    text(x, y + 26, `root ${rootHash.slice(0, 16)}…`, "hash"),
    text(x, y + 50, `${count} of ${nodes.length} nodes have computed and signed it: ${words}`, "role"),
  ];
}

/**
 * Draws what a log holds, what its records name, and what its nodes have signed.
 * @returns an SVG element without empty lines; colours come from the style of the page
 */
export function drawPicture(demo: Demo): string {
  const { leaves } = demo;
  const root = tree(0, leaves.length, TOP + BOX.height);
  const arcs = leaves.flatMap((leaf, at) =>
    leaf.names.map((id) => {
      const to = leaves.findIndex(({ anchorId }) => anchorId === id);
      if (to < 0 || to >= at) throw new Error(`leaf ${at} names ${id}, which is no earlier leaf`);
      return arc(leaf, at, to);
    }),
  );
  const [width, height] = [EDGE * 2 + leaves.length * step - BOX.gap, root.y + 60];
  return [
    `<svg class="picture" viewBox="0 0 ${width} ${height}" role="img" xmlns="http://www.w3.org/2000/svg">`,
    "<title>Two acts of an agent, before and after its grant was revoked, in a log that a quorum has signed</title>",
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="7" markerHeight="7" orient="auto">',
    '<path class="tip" d="M0 0 L8 4 L0 8 z"/></marker></defs>',
    ...arcs,
    ...root.lines,
    ...leaves.flatMap(box),
    ...signers(demo, root),
    "</svg>",
  ].join("\n");
}
