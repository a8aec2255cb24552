/** Memory for the bytes of leaves. */

/**
 * Some forty leaves share an array: one of its own for each lies outside of the JS heap, and costs about as much as its
 * hash. A leaf that is kept keeps its neighbours.
 */
const SPACE_BYTES = 16 * 1024;

let space = new Uint8Array(0);
let used = 0;

/** A copy that nobody else writes to. */
export function copyOf(leaf: Uint8Array): Uint8Array {
  const end = used + leaf.length;
  if (end > space.length) {
    space = new Uint8Array(Math.max(SPACE_BYTES, leaf.length));
    used = 0;
    return copyOf(leaf);
  }
  const copy = space.subarray(used, end);
  copy.set(leaf);
  used = end;
  return copy;
}
