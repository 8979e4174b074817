/**
 * A 32-bit hash of an id's bytes: HalfSipHash-1-3 with a random key per process, so clients cannot choose ids that collide.
 * Source: Aumasson and Bernstein, SipHash: a fast short-input PRF, and its 32-bit form in
 * https://github.com/veorq/SipHash (halfsiphash.c)
 */
import { randomBytes } from 'node:crypto'

const key = randomBytes(8)
const KEY_0 = key.readInt32LE(0)
const KEY_1 = key.readInt32LE(4)
const FINAL_ROUNDS = 3

/** @param {Uint8Array} bytes @param {number} at @param {number} end @returns {number} a signed 32-bit integer */
export function idHash (bytes, at, end) {
  let v0 = KEY_0
  let v1 = KEY_1
  let v2 = KEY_0 ^ 0x6c796765
  let v3 = KEY_1 ^ 0x74656462
  const length = end - at
  // words of four bytes, then the remaining bytes with the length, then the final rounds
  const words = length >>> 2
  for (let i = 0; i <= words + FINAL_ROUNDS; i++) {
    let word = 0
    if (i < words) {
      word = bytes[at] | bytes[at + 1] << 8 | bytes[at + 2] << 16 | bytes[at + 3] << 24
      at += 4
    } else if (i === words) {
      word = length << 24
      for (let shift = 0; at < end; shift += 8) word |= bytes[at++] << shift
    } else if (i === words + 1) v2 ^= 0xff
    v3 ^= word
    v0 = (v0 + v1) | 0
    v1 = (v1 << 5 | v1 >>> 27) ^ v0
    v0 = v0 << 16 | v0 >>> 16
    v2 = (v2 + v3) | 0
    v3 = (v3 << 8 | v3 >>> 24) ^ v2
    v0 = (v0 + v3) | 0
    v3 = (v3 << 7 | v3 >>> 25) ^ v0
    v2 = (v2 + v1) | 0
    v1 = (v1 << 13 | v1 >>> 19) ^ v2
    v2 = v2 << 16 | v2 >>> 16
    v0 ^= word
  }
  return v1 ^ v3
}
