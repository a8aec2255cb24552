import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { offeredOf } from "../given/given-items.ts";
import type { GivenItem, Offered } from "../given/given-items.ts";
import type { Given } from "../given/given.ts";

const KIND_TEXTS: Readonly<Record<Given["kind"], string>> = {
  receipt: "receipt",
  bundle: "evidence bundle",
  scope: "disclosure of what a grant allows",
  trust_root: "trust root",
  checkpoint: "checkpoint",
  names: "names, shown in place of hashes",
  root_thk: "a RootTHK, which is not used",
  file: "the file itself",
  broken: "cannot be read",
};

function sizeText(size: number): string {
  if (size < 1000) return `${size} bytes`;
  return size < 1e6 ? `${(size / 1000).toFixed(1)} kB` : `${(size / 1e6).toFixed(1)} MB`;
}

interface ListProps {
  readonly items: readonly GivenItem[];
  readonly onRemove: (id: number) => void;
  readonly onReadAsFile: (id: number, isFile: boolean) => void;
}

function GivenRow({
  item,
  onRemove,
  onReadAsFile,
}: { readonly item: GivenItem } & Omit<ListProps, "items">): JSX.Element {
  const { id, name, given, isFile, bytes } = item;
  const canBeFile = bytes !== null && (isFile || given.kind !== "file");
  return (
    <li class={given.kind === "broken" ? "given is-fail" : "given"}>
      <div class="given-name">
        <b>{name}</b>
        <span class="quiet">
          {KIND_TEXTS[given.kind]}
          {bytes !== null && `, ${sizeText(given.size)}`}
        </span>
        {given.kind === "root_thk" && (
          <span class="hint">
            A pin counts only if it reached you by another way than these files. If this one did, type it into the pin
            field.
          </span>
        )}
        {given.kind === "broken" && <span class="hint">{given.detail}</span>}
      </div>
      {canBeFile && (
        <label class="as-file">
          <input type="checkbox" checked={isFile} onChange={(event) => onReadAsFile(id, event.currentTarget.checked)} />
          it is the file itself
        </label>
      )}
      <button type="button" class="plain" onClick={() => onRemove(id)} aria-label={`Remove ${name}`}>
        Remove
      </button>
    </li>
  );
}

export function GivenList({ items, onRemove, onReadAsFile }: ListProps): JSX.Element | null {
  if (items.length === 0) return null;
  return (
    <ul class="givens" aria-label="What you have given">
      {items.map((item) => (
        <GivenRow key={item.id} item={item} onRemove={onRemove} onReadAsFile={onReadAsFile} />
      ))}
    </ul>
  );
}

interface DropZoneProps {
  readonly onOffered: (offered: readonly Offered[]) => void;
}

/** Text that was pasted, or typed. */
function PasteField({ onOffered }: DropZoneProps): JSX.Element {
  const [text, setText] = useState("");
  const give = (): void => {
    if (text.trim() === "") return;
    onOffered([{ name: null, bytes: new TextEncoder().encode(text) }]);
    setText("");
  };
  return (
    <details class="paste">
      <summary>Paste text instead</summary>
      <label for="pasted">A receipt, a bundle, a trust root or a checkpoint, as text</label>
      <textarea
        id="pasted"
        rows={5}
        spellcheck={false}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <button type="button" onClick={give}>
        Read it
      </button>
    </details>
  );
}

export function DropZone({ onOffered }: DropZoneProps): JSX.Element {
  const [isOver, setIsOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const take = async (files: FileList | null | undefined): Promise<void> => {
    if (files === null || files === undefined || files.length === 0) return;
    onOffered(await Promise.all([...files].map(offeredOf)));
    if (input.current !== null) input.current.value = "";
  };
  return (
    <>
      <div
        class={isOver ? "drop is-over" : "drop"}
        onDragOver={(event) => {
          event.preventDefault();
          setIsOver(true);
        }}
        onDragLeave={() => setIsOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setIsOver(false);
          void take(event.dataTransfer?.files);
        }}
      >
        <label class="choose" for="chosen">
          Choose files
        </label>
        <input
          id="chosen"
          ref={input}
          class="unseen"
          type="file"
          multiple
          onChange={(event) => void take(event.currentTarget.files)}
        />
        <p>or drop them here, all at once: the file, its receipt, the trust root; or a bundle, with disclosures.</p>
      </div>
      <PasteField onOffered={onOffered} />
    </>
  );
}
