import type { JSX } from "preact";
import { BOX_WIDTH } from "../chain/layout.ts";
import type { Drawing, PlacedArrow, PlacedBox } from "../chain/layout.ts";
import { signOf, wordOf } from "./mark-sign.tsx";

const TITLE_LENGTH_MAX = 26;
const FIRST_LINE = 46;
const LINE_HEIGHT = 18;
const INSET = 16;

function cut(text: string): string {
  return text.length > TITLE_LENGTH_MAX ? `${text.slice(0, TITLE_LENGTH_MAX - 1)}…` : text;
}

function pathOf(points: PlacedArrow["points"]): string {
  const [first, ...rest] = points;
  if (first === undefined) return "";
  const end = rest.at(-1) ?? first;
  const inner = rest.slice(0, -1);
  const start = `M ${first.x} ${first.y}`;
  if (inner.length === 0) return `${start} L ${end.x} ${end.y}`;
  const curves = inner.map(({ x, y }, at) => {
    const next = inner[at + 1];
    const to = next === undefined ? end : { x: (x + next.x) / 2, y: (y + next.y) / 2 };
    return `Q ${x} ${y} ${to.x} ${to.y}`;
  });
  return [start, ...curves].join(" ");
}

function ArrowLine({ arrow }: { readonly arrow: PlacedArrow }): JSX.Element {
  const middle = arrow.points[Math.floor(arrow.points.length / 2)] ?? { x: 0, y: 0 };
  return (
    <g class={arrow.isBroken ? "arrow is-broken" : "arrow"} aria-hidden="true">
      <path d={pathOf(arrow.points)} marker-end={arrow.isBroken ? "url(#tip-broken)" : "url(#tip)"} />
      <text x={middle.x + 8} y={middle.y + 4}>
        {arrow.label}
      </text>
    </g>
  );
}

interface BoxProps {
  readonly box: PlacedBox;
  readonly isOpen: boolean;
  readonly onOpen: (id: string) => void;
}

function BoxShape({ box, isOpen, onOpen }: BoxProps): JSX.Element {
  const { x, y, height, title, lines, faultLines, faults, mark, kind } = box;
  const said = [title, ...lines, wordOf(mark), ...faults].join(", ");
  return (
    <g
      class={`box is-${mark} ${kind}${isOpen ? " is-open" : ""}`}
      transform={`translate(${x} ${y})`}
      role="button"
      tabindex={0}
      aria-label={`${said}. Open this record`}
      aria-pressed={isOpen}
      onClick={() => onOpen(box.id)}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        onOpen(box.id);
      }}
    >
      <rect class="ground" width={BOX_WIDTH} height={height} rx={10} />
      <rect class="edge" width={4} height={height - 16} y={8} x={0} rx={2} />
      <text class="title" x={INSET} y={24}>
        {cut(title)}
      </text>
      <text class="glyph" x={BOX_WIDTH - INSET} y={24} text-anchor="end">
        {signOf(mark)}
      </text>
      {lines.map((line, at) => (
        <text key={`line ${at}`} class="line" x={INSET} y={FIRST_LINE + at * LINE_HEIGHT}>
          {line}
        </text>
      ))}
      {faultLines.map((line, at) => (
        <text key={`${at}`} class="fault" x={INSET} y={FIRST_LINE + (lines.length + at) * LINE_HEIGHT}>
          {line}
        </text>
      ))}
    </g>
  );
}

interface ChainDrawingProps {
  readonly drawing: Drawing;
  readonly openId: string | null;
  readonly onOpen: (id: string) => void;
}

export function ChainDrawing({ drawing, openId, onOpen }: ChainDrawingProps): JSX.Element {
  const { width, height, boxes, arrows } = drawing;
  return (
    <div
      class="drawing"
      role="region"
      aria-label="The responsibility chain, from who delegates to the act"
      tabindex={0}
    >
      <svg
        width={width}
        height={height}
        viewBox={`0 0 ${width} ${height}`}
        role="group"
        aria-label="responsibility chain"
      >
        <defs>
          {["tip", "tip-broken"].map((id) => (
            <marker key={id} id={id} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
              <path class={id} d="M 0 0 L 8 4 L 0 8 z" />
            </marker>
          ))}
        </defs>
        {arrows.map((arrow) => (
          <ArrowLine key={`${arrow.from} ${arrow.to}`} arrow={arrow} />
        ))}
        {boxes.map((box) => (
          <BoxShape key={box.id} box={box} isOpen={box.id === openId} onOpen={onOpen} />
        ))}
      </svg>
    </div>
  );
}
