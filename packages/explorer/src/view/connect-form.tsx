import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { isKeyLike } from "../browse/node-service.ts";
import type { Watched } from "../browse/watch.ts";

interface ConnectProps {
  /** Null: the page was opened from a file. */
  readonly address: string | null;
  readonly phase: Watched["phase"];
  readonly refusal: string | null;
  readonly connect: (key: string | null) => void;
  readonly disconnect: () => void;
}

/** Why there is nothing to browse in a page from a disk. */
function NoNode(): JSX.Element {
  return (
    <p class="empty">
      This page was opened as a file, so there is no node that it may ask: it talks to the one that served it, and to
      nobody else. To watch a log, open the page at a node, <code>https://…/verify</code>. First compare the SHA-256 of
      what the node serves with that of this file: a page that a node serves is the word of that node.
    </p>
  );
}

/** The node that the page came from, and the key for it. */
export function ConnectForm(props: ConnectProps): JSX.Element {
  const { address, phase } = props;
  const isWatching = phase !== "idle" && phase !== "refused";
  return (
    <section aria-labelledby="connection">
      <h2 id="connection">Which node</h2>
      {address === null && <NoNode />}
      {address !== null && isWatching && (
        <>
          <p>
            This page asks <code>{address}</code>, from which it came, and nobody else.
          </p>
          <button type="button" onClick={props.disconnect}>
            Stop, and forget the key
          </button>
        </>
      )}
      {address !== null && !isWatching && <KeyField {...props} address={address} />}
    </section>
  );
}

/** The key goes from the field into memory, and the field is emptied. */
function KeyField({ address, refusal, connect }: ConnectProps & { readonly address: string }): JSX.Element {
  const field = useRef<HTMLInputElement>(null);
  const [isBad, setIsBad] = useState(false);
  const take = (): void => {
    const key = field.current?.value.trim() ?? "";
    if (field.current !== null) field.current.value = "";
    const isGood = key === "" || isKeyLike(key);
    setIsBad(!isGood);
    if (isGood) connect(key === "" ? null : key);
  };
  return (
    <>
      <label for="key">Key with the scope read; on a public log none is needed</label>
      <input
        id="key"
        ref={field}
        type="password"
        autocomplete="off"
        spellcheck={false}
        aria-describedby="key-why key-state"
        onKeyDown={(event) => {
          if (event.key === "Enter") take();
        }}
      />
      <p id="key-state" class="is-fail-text" role="status">
        {isBad ? "This cannot be a key: it has spaces, or letters that no key has." : refusal}
      </p>
      <button type="button" onClick={take}>
        Watch this node
      </button>
      <p id="key-why" class="quiet">
        The key stays in the memory of this page until you stop, reload or close it. It is sent to{" "}
        <code>{address}</code>, and nowhere else, and written nowhere.
      </p>
    </>
  );
}
