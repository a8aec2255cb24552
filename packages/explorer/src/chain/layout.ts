/** Where the boxes and arrows of a chain are drawn. */
import * as dagre from "@dagrejs/dagre";
import type { Arrow, Box, ChainModel } from "./chain-model.ts";

/** What is used of dagre, whose own declarations do not resolve under `nodenext`. */
interface LayoutGraph {
  setGraph(label: object): void;
  setDefaultEdgeLabel(label: () => object): void;
  setNode(id: string, label: { readonly width: number; readonly height: number }): void;
  setEdge(from: string, to: string, label: object): void;
  graph(): { readonly width?: number; readonly height?: number };
  node(id: string): { readonly x: number; readonly y: number };
  edge(from: string, to: string): { readonly points: PlacedArrow["points"] };
}

const { Graph, layout } = dagre as unknown as {
  readonly Graph: new () => LayoutGraph;
  readonly layout: (graph: LayoutGraph) => void;
};

export const BOX_WIDTH = 288;
const TITLE_HEIGHT = 34;
const LINE_HEIGHT = 18;
const PADDING = 12;
/** Characters of a line of small text that a box is wide. */
const LINE_LENGTH = 36;
const MARGIN = 8;

export interface PlacedBox extends Box {
  readonly x: number;
  readonly y: number;
  readonly height: number;
  /** The faults, in lines that fit. */
  readonly faultLines: readonly string[];
}

export interface PlacedArrow extends Arrow {
  readonly points: readonly { readonly x: number; readonly y: number }[];
}

export interface Drawing {
  readonly width: number;
  readonly height: number;
  readonly boxes: readonly PlacedBox[];
  readonly arrows: readonly PlacedArrow[];
}

/** Breaks a text at its spaces. */
function linesOf(text: string): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > LINE_LENGTH) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

export function drawingOf({ boxes, arrows }: ChainModel): Drawing {
  const graph = new Graph();
  graph.setGraph({ rankdir: "TB", nodesep: 36, ranksep: 44, marginx: MARGIN, marginy: MARGIN });
  graph.setDefaultEdgeLabel(() => ({}));
  const sized = boxes.map((box) => {
    const lines = box.lines.flatMap(linesOf);
    const faultLines = box.faults.flatMap(linesOf);
    const height = TITLE_HEIGHT + (lines.length + faultLines.length) * LINE_HEIGHT + PADDING;
    return { ...box, lines, faultLines, height };
  });
  for (const { id, height } of sized) graph.setNode(id, { width: BOX_WIDTH, height });
  for (const { from, to } of arrows) graph.setEdge(from, to, {});
  layout(graph);
  const { width = 0, height = 0 } = graph.graph();
  return {
    width,
    height,
    boxes: sized.map((box) => {
      const { x, y } = graph.node(box.id);
      return { ...box, x: x - BOX_WIDTH / 2, y: y - box.height / 2 };
    }),
    arrows: arrows.map((arrow) => {
      const { points } = graph.edge(arrow.from, arrow.to);
      return { ...arrow, points };
    }),
  };
}
