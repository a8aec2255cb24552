const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb8_8320 : 0);
  return crc;
});

/**
 * CRC-32 of IEEE 802.3 (polynomial 0xEDB88320, reflected), as zlib computes it.
 * @param before CRC-32 of the preceding bytes
 */
export function crc32(bytes: Uint8Array, before = 0): number {
  let crc = before ^ 0xffff_ffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ (TABLE[(crc ^ byte) & 0xff] ?? 0);
  return (crc ^ 0xffff_ffff) >>> 0;
}
