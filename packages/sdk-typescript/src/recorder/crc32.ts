/** CRC-32 as zlib has it, by table: Node's own came after Node 18. It finds accidents, and protects from nobody. */
const TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

export function crc32(bytes: Uint8Array, from = 0, to = bytes.length): number {
  let value = 0xffffffff;
  for (let at = from; at < to; at++) value = (TABLE[(value ^ (bytes[at] ?? 0)) & 255] ?? 0) ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}
