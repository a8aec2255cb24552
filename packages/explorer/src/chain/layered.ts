/**
 * Places boxes in layers and arrows from the top down, in the steps of Sugiyama, Tagawa and Toda (1981): layers, an
 * order within each that crosses few arrows, then positions. For graphs as small as the chain of an act.
 */

export interface SizedBox {
  readonly id: string;
  readonly width: number;
  readonly height: number;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Placement {
  readonly width: number;
  readonly height: number;
  /** Centres of the boxes. */
  readonly centres: ReadonlyMap<string, Point>;
  /** For each arrow, in their order: where it begins, what it passes between, where it ends. */
  readonly paths: readonly (readonly Point[])[];
}

type Link = readonly [from: string, to: string];

const GAP_BESIDE = 36;
const GAP_BELOW = 44;
const MARGIN = 8;
/** What an arrow takes of a layer that it passes. */
const LANE_WIDTH = 24;
const SWEEPS = 8;
/** An arrow ends this far from the corner of a box, or farther. */
const CORNER = 28;

/** A box, or where an arrow passes a layer. */
interface Spot {
  readonly width: number;
  readonly height: number;
  readonly layer: number;
  x: number;
  /** Spots of the layers above and below that it is connected with. */
  readonly above: Spot[];
  readonly below: Spot[];
}

/** The arrows without those that close a circle. */
function withoutCircles(ids: readonly string[], links: readonly Link[]): Link[] {
  const states = new Map<string, "open" | "done">();
  const kept: Link[] = [];
  const visit = (id: string): void => {
    states.set(id, "open");
    for (const link of links.filter(([from]) => from === id)) {
      if (states.get(link[1]) === "open") continue;
      kept.push(link);
      if (!states.has(link[1])) visit(link[1]);
    }
    states.set(id, "done");
  };
  for (const id of ids) if (!states.has(id)) visit(id);
  return kept;
}

/** How many arrows lead to a box at most; one that none leads to is directly above what it points to. */
function layersOf(ids: readonly string[], links: readonly Link[]): Map<string, number> {
  const layers = new Map(ids.map((id) => [id, 0]));
  for (let round = 0; round < ids.length; round++) {
    for (const [from, to] of links) layers.set(to, Math.max(layers.get(to) ?? 0, (layers.get(from) ?? 0) + 1));
  }
  for (const id of ids) {
    if (links.some(([, to]) => to === id)) continue;
    const targets = links.filter(([from]) => from === id).map(([, to]) => layers.get(to) ?? 1);
    if (targets.length > 0) layers.set(id, Math.min(...targets) - 1);
  }
  return layers;
}

function mean(spots: readonly Spot[], of: (spot: Spot) => number): number | null {
  return spots.length === 0 ? null : spots.reduce((sum, spot) => sum + of(spot), 0) / spots.length;
}

/** Each layer is ordered by where its neighbours in the layer before are, down and up by turns. */
function orderLayers(layers: Spot[][]): void {
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isDown = sweep % 2 === 0;
    for (const layer of isDown ? layers : layers.toReversed()) {
      const places = new Map(layers.flatMap((each) => each.map((spot, at) => [spot, at] as const)));
      const wanted = new Map(
        layer.map((spot, at) => [spot, mean(isDown ? spot.above : spot.below, (one) => places.get(one) ?? 0) ?? at]),
      );
      layer.sort((a, b) => (wanted.get(a) ?? 0) - (wanted.get(b) ?? 0));
    }
  }
}

/**
 * The positions nearest to the wanted ones, by the sum of squares, at which nothing overlaps: neighbours that would
 * overlap become a block, which goes to the mean of what its members want.
 */
function spread(layer: readonly Spot[], wanted: readonly number[]): void {
  const offsets: number[] = [];
  const blocks: { members: number; sum: number }[] = [];
  for (const [at, spot] of layer.entries()) {
    const before = layer[at - 1];
    const distance = before === undefined ? 0 : (before.width + spot.width) / 2 + GAP_BESIDE;
    offsets.push((offsets.at(-1) ?? 0) + distance);
    let block = { members: 1, sum: (wanted[at] ?? 0) - (offsets[at] ?? 0) };
    for (let last = blocks.at(-1); last !== undefined; last = blocks.at(-1)) {
      if (last.sum / last.members < block.sum / block.members) break;
      block = { members: last.members + block.members, sum: last.sum + block.sum };
      blocks.pop();
    }
    blocks.push(block);
  }
  const starts = blocks.flatMap(({ members, sum }) => Array.from({ length: members }, () => sum / members));
  for (const [at, spot] of layer.entries()) spot.x = (starts[at] ?? 0) + (offsets[at] ?? 0);
}

function placeAcross(layers: readonly Spot[][]): void {
  for (const layer of layers)
    spread(
      layer,
      layer.map(() => 0),
    );
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isDown = sweep % 2 === 0;
    for (const layer of isDown ? layers : layers.toReversed()) {
      const wanted = layer.map((spot) => mean(isDown ? spot.above : spot.below, ({ x }) => x) ?? spot.x);
      spread(layer, wanted);
    }
  }
}

/** The nearest place to `x` on the upper or lower edge of a box. */
function onEdge({ x, width }: Spot, towards: number): number {
  const reach = Math.max(width / 2 - CORNER, 0);
  return Math.min(Math.max(towards, x - reach), x + reach);
}

class Layering {
  readonly #boxes: ReadonlyMap<string, Spot>;
  readonly #lanes: readonly (readonly Spot[])[];
  readonly #layers: Spot[][] = [];

  constructor(boxes: readonly SizedBox[], links: readonly Link[]) {
    const ids = boxes.map(({ id }) => id);
    const downward = withoutCircles(ids, links);
    const layers = layersOf(ids, downward);
    this.#boxes = new Map(boxes.map(({ id, width, height }) => [id, this.#add(layers.get(id) ?? 0, width, height)]));
    this.#lanes = links.map((link) => (downward.includes(link) ? this.#lane(link) : []));
    orderLayers(this.#layers);
    placeAcross(this.#layers);
  }

  #add(layer: number, width: number, height: number): Spot {
    const spot: Spot = { width, height, layer, x: 0, above: [], below: [] };
    (this.#layers[layer] ??= []).push(spot);
    return spot;
  }

  #box(id: string): Spot {
    const spot = this.#boxes.get(id);
    if (spot === undefined) throw new RangeError(`an arrow to ${id}, which is no box`);
    return spot;
  }

  /** Where an arrow passes the layers between its boxes. */
  #lane([from, to]: Link): Spot[] {
    const [first, last] = [this.#box(from), this.#box(to)];
    const passed = [];
    let above = first;
    for (let layer = first.layer + 1; layer < last.layer; layer++) {
      const spot = this.#add(layer, LANE_WIDTH, 0);
      passed.push(spot);
      above.below.push(spot);
      spot.above.push(above);
      above = spot;
    }
    above.below.push(last);
    last.above.push(above);
    return passed;
  }

  placement(boxes: readonly SizedBox[], links: readonly Link[]): Placement {
    const spots = this.#layers.flat();
    const left = Math.min(...spots.map(({ x, width }) => x - width / 2));
    for (const spot of spots) spot.x += MARGIN - left;
    const middles: number[] = [];
    let top = MARGIN;
    for (const layer of this.#layers) {
      const height = Math.max(...layer.map((spot) => spot.height));
      middles.push(top + height / 2);
      top += height + GAP_BELOW;
    }
    const at = (spot: Spot): Point => ({ x: spot.x, y: middles[spot.layer] ?? 0 });
    return {
      width: Math.max(...spots.map(({ x, width }) => x + width / 2)) + MARGIN,
      height: top - GAP_BELOW + MARGIN,
      centres: new Map(boxes.map(({ id }) => [id, at(this.#box(id))])),
      paths: links.map(([from, to], index) => {
        const [first, last, passed] = [this.#box(from), this.#box(to), this.#lanes[index] ?? []];
        const way = last.layer < first.layer ? -1 : 1;
        const start = { x: onEdge(first, passed[0]?.x ?? last.x), y: at(first).y + (way * first.height) / 2 };
        const end = { x: onEdge(last, passed.at(-1)?.x ?? start.x), y: at(last).y - (way * last.height) / 2 };
        const between = passed.length > 0 ? passed.map(at) : [{ x: (start.x + end.x) / 2, y: (start.y + end.y) / 2 }];
        return [start, ...between, end];
      }),
    };
  }
}

/** @param links from the id of a box to that of another, which is lower down unless they close a circle */
export function placeInLayers(boxes: readonly SizedBox[], links: readonly Link[]): Placement {
  if (boxes.length === 0) return { width: 0, height: 0, centres: new Map(), paths: [] };
  return new Layering(boxes, links).placement(boxes, links);
}
