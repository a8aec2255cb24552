/** Bytes of the text in UTF-8. */
function utf8LengthOf(text: string): number {
  let length = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    // Each half of a surrogate pair counts for two of its four bytes.
    const isHalf = code >= 0xd800 && code <= 0xdfff;
    length += code < 0x80 ? 1 : code < 0x800 || isHalf ? 2 : 3;
  }
  return length;
}

/** Whether a text has more bytes of UTF-8; most texts need not be measured. */
export function isOverUtf8Bytes(text: string, bytesMax: number): boolean {
  return text.length > bytesMax || (text.length * 3 > bytesMax && utf8LengthOf(text) > bytesMax);
}
