/**
 * The random numbers of a server.
 *
 * Valkey 9.1 draws the level of each node of a skip list from a Mersenne Twister (64 bits) that it seeds once, by time and process id. A
 * node keeps its level when its score changes, so the draws of the first pass over all ids decide how long every later search is: counts of
 * one load differed by up to 1.4 %. No option and no command sets that seed. The state of the generator is therefore written into the
 * memory of the started server, as the generator itself would have made it of a fixed seed. The program is not changed.
 *
 *     mt[0] = seed, mt[i] = F * (mt[i - 1] ^ mt[i - 1] >> 62) + i     until the first number is drawn, by which it is found
 *
 * Other engines (Valkey 9.0, Redis 7.0) draw from libc, whose state cannot be told from other memory.
 */
import { open, readFile, realpath } from 'node:fs/promises'
import { FreshetError } from '../errors.js'

const WORDS = 312
const WORD_BYTES = 8
const F = 6364136223846793005n
const SEED = 5489n
const LINE = /^([0-9a-f]+)-([0-9a-f]+) rw-p \S+ \S+ \S+ *(.*)$/

/** @param {bigint} before @param {number} i */
const wordAfter = (before, i) => BigInt.asUintN(64, F * (before ^ (before >> 62n)) + BigInt(i))

/** @param {Buffer} memory @returns {number} offset of a state that no number was drawn from; -1 = there is none */
export function findState (memory) {
  for (let at = 0; at + WORDS * WORD_BYTES <= memory.length; at += WORD_BYTES) {
    let word = memory.readBigUInt64LE(at)
    let i = 1
    while (i < WORDS && memory.readBigUInt64LE(at + i * WORD_BYTES) === (word = wordAfter(word, i))) i++
    if (i === WORDS) return at
  }
  return -1
}

/** @returns {Buffer} the state of a generator with the fixed seed */
export function fixedState () {
  const state = Buffer.alloc(WORDS * WORD_BYTES)
  let word = SEED
  for (let i = 0; i < WORDS; i++) {
    if (i > 0) word = wordAfter(word, i)
    state.writeBigUInt64LE(word, i * WORD_BYTES)
  }
  return state
}

/** Static variables of a process: those of its program, and what follows without a gap. @param {string} maps @param {string} program */
function staticsIn (maps, program) {
  /** @type {{ start: number, end: number }[]} */
  const found = []
  for (const line of maps.split('\n')) {
    const [, from, to, path] = LINE.exec(line) ?? []
    if (from === undefined) continue
    const [start, end] = [parseInt(from, 16), parseInt(to, 16)]
    if (path === program || (path === '' && found.at(-1)?.end === start)) found.push({ start, end })
  }
  return found.length === 0 ? null : { start: found[0].start, end: /** @type {{ end: number }} */ (found.at(-1)).end }
}

/**
 * Sets the generator of a started server, before it holds a sorted set.
 * @param {{ pid: number, program: string }} server
 * @returns {Promise<void>}
 * @throws {FreshetError} COUNT_FAILED
 */
export async function fixGenerator ({ pid, program }) {
  try {
    const statics = staticsIn(await readFile(`/proc/${pid}/maps`, 'utf8'), await realpath(program))
    if (statics === null) throw new Error('it has no static variables')
    const memory = await open(`/proc/${pid}/mem`, 'r+')
    try {
      const bytes = Buffer.alloc(statics.end - statics.start)
      await memory.read(bytes, 0, bytes.length, statics.start)
      const at = findState(bytes)
      if (at < 0) throw new Error('there is no generator that was not used yet')
      await memory.write(fixedState(), 0, WORDS * WORD_BYTES, statics.start + at)
    } finally {
      await memory.close()
    }
  } catch (error) {
    throw new FreshetError('COUNT_FAILED', `the random numbers of the server cannot be fixed: ${error.message}`)
  }
}
