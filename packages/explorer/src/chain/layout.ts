/** Where the boxes and arrows of a chain are drawn. */
import type { Arrow, Box, ChainModel } from "./chain-model.ts";
import { placeInLayers } from "./layered.ts";

export const BOX_WIDTH = 288;
const TITLE_HEIGHT = 34;
const LINE_HEIGHT = 18;
const PADDING = 12;
/** Characters of a line of small text that a box is wide. */
const LINE_LENGTH = 36;

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
  const sized = boxes.map((box) => {
    const lines = box.lines.flatMap(linesOf);
    const faultLines = box.faults.flatMap(linesOf);
    const height = TITLE_HEIGHT + (lines.length + faultLines.length) * LINE_HEIGHT + PADDING;
    return { ...box, lines, faultLines, height };
  });
  const { width, height, centres, paths } = placeInLayers(
    sized.map(({ id, height: own }) => ({ id, width: BOX_WIDTH, height: own })),
    arrows.map(({ from, to }) => [from, to]),
  );
  return {
    width,
    height,
    boxes: sized.map((box) => {
      const { x, y } = centres.get(box.id) ?? { x: 0, y: 0 };
      return { ...box, x: x - BOX_WIDTH / 2, y: y - box.height / 2 };
    }),
    arrows: arrows.map((arrow, at) => ({ ...arrow, points: paths[at] ?? [] })),
  };
}
