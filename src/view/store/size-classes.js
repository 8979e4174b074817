/**
 * Size classes: each 16 bytes up to 128, then eight for each doubling. Beyond 128 bytes at most a ninth of a bucket is
 * unused.
 */
const STEP = 16
const EVEN_CLASSES = 8

/** @param {number} bytes @returns {number} the class of buckets for so many */
export function classOf (bytes) {
  if (bytes <= STEP * EVEN_CLASSES) return (bytes + STEP - 1) >>> 4
  const shift = 28 - Math.clz32(bytes - 1)
  return (shift - 3) * EVEN_CLASSES + ((bytes - 1) >>> shift) - EVEN_CLASSES + 1
}

/** @param {number} index of a class @returns {number} bytes of its buckets */
export function classBytes (index) {
  if (index <= EVEN_CLASSES) return index * STEP
  const shift = (index - 1 >>> 3) + 3
  return ((index - 1 & 7) + EVEN_CLASSES + 1) << shift
}
