import type { JSX } from "preact";

/** What a verdict means, for who has not read anything else. */
export function About(): JSX.Element {
  return (
    <section class="about" aria-labelledby="about">
      <h2 id="about">What a verdict says</h2>
      <dl>
        <dt>VALID</dt>
        <dd>
          Everything is proved from the pin on. For a receipt: this file's hash was in a log that a quorum of the nodes
          signed, at the times that are shown, and cannot have been added later without their keys. It does not say that
          the content of the file is true. For a bundle: its verdicts on the act are right, and one of them may be that
          the act was not authorised.
        </dd>
        <dt>VALID AS STATED</dt>
        <dd>Nothing is wrong, and what is marked ! rests on the word of the service.</dd>
        <dt>NOT COMPARED</dt>
        <dd>The receipt is good, and nobody has shown the file that it is of.</dd>
        <dt>NOT PINNED</dt>
        <dd>The files go together. A forger's would, too: compare the hash of the trust root with people you trust.</dd>
        <dt>NOT VALID</dt>
        <dd>A step failed. The line marked ✗ says which, and why.</dd>
      </dl>
      <p class="quiet">
        The steps and their words are those of <code>anchorctl verify</code>: the page and the command run the same
        functions. Names instead of hashes: drop a text file whose first line is <code># names</code>, and then 64
        digits and a name on each line. Names change no verdict.
      </p>
    </section>
  );
}
