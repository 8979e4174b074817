/**
 * The 16,384 slots of a cluster, and hash tags that spread over them.
 *
 * CRC16 is linear: tags that differ in one digit fall into the same quarters of the slots. So partition p of several has the tag
 * `{name:p.k}`, where k is the smallest number that puts it into the p-th of equal ranges of the slots. Any even assignment of slots to
 * primaries then gets an even share of the partitions.
 */

export const SLOTS = 16384

const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  return crc
})

/** CRC16 (XMODEM), as the servers use it. @param {Buffer} bytes */
function crc16 (bytes) {
  let crc = 0
  for (const byte of bytes) crc = ((crc << 8) & 0xffff) ^ TABLE[(crc >> 8) ^ byte]
  return crc
}

/** @param {string | Buffer} key @returns {number} that of the hash tag, if the key has one */
export function slotOf (key) {
  const bytes = Buffer.from(key)
  const open = bytes.indexOf('{')
  const close = open < 0 ? -1 : bytes.indexOf('}', open + 1)
  return crc16(close > open + 1 ? bytes.subarray(open + 1, close) : bytes) % SLOTS
}

/** @type {Map<string, string>} */
const tags = new Map()

/** @param {string} name @param {number} partition @param {number} partitions @returns {string} without braces */
export function spreadTag (name, partition, partitions) {
  const wanted = `${name}:${partition}/${partitions}`
  const known = tags.get(wanted)
  if (known !== undefined) return known
  let k = 0
  while (Math.floor(slotOf(`${name}:${partition}.${k}`) * partitions / SLOTS) !== partition) k++
  tags.set(wanted, `${name}:${partition}.${k}`)
  return `${name}:${partition}.${k}`
}
