import { textOf } from "./checkout.ts";
import { EXAMPLES, linesOf } from "./examples.ts";
import { drawPicture } from "./picture/draw.ts";
import { readDemo } from "./picture/demo.ts";

/** Bundles of the demo's acts, the last one with the whole log. */
export const DEMO_BUNDLES = ["packages/site/demo/first-act.bundle.json", "packages/site/demo/second-act.bundle.json"];

function examples(): string {
  const shown = EXAMPLES.map((example) => {
    return `### ${example.language}\n\n\`\`\`${example.code}\n${linesOf(example).join("\n")}\n\`\`\``;
  });
  return shown.join("\n\n");
}

/** The start page in Markdown: its text, with the picture, the examples and the pin of the demo in their places. */
export function startPage(): string {
  const parts: Readonly<Record<string, string>> = {
    picture: drawPicture(readDemo(DEMO_BUNDLES.map(textOf))),
    examples: examples(),
    pin: textOf("packages/site/demo/root-thk.txt").trim(),
  };
  return textOf("packages/site/start.md").replaceAll(/%(\w+)%/gu, (whole, name: string) => parts[name] ?? whole);
}
