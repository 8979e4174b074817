/**
 * The file of --rejects: one JSON object per refused record.
 *
 *     {"line":7,"code":"INPUT_INVALID","reason":"not JSON: …","raw":"the record, at most 4,096 bytes"}
 *
 * `item` replaces `line` where the input is one JSON document. `"truncated":true`: the record is longer. `"encoding":"base64"`: it is
 * not UTF-8.
 */
import { isUtf8 } from 'node:buffer'
import { once } from 'node:events'
import { open, stat } from 'node:fs/promises'
import { FreshetError } from '../../src/errors.js'
import { visible } from '../../src/runtime/index.js'
import { RAW_BYTES } from './cut.js'

/**
 * Reports refused records: the first few of each error code as text, the number of each code at the end, and all of them in the
 * file of --rejects.
 */

/** @typedef {import('./records.js').Entry} Entry */

/**
 * @param {object} options
 * @param {number} [options.show] number of records per code that are written as text
 * @param {string} [options.noun] unit of a place: line, or item for json
 * @param {(text: string) => void} options.write gets one line with its line end, of visible characters
 * @param {Rejects | null} [options.rejects]
 */
export function createFaultReport ({ show = 3, noun = 'line', write, rejects = null }) {
  /** @type {Map<string, number>} by code */
  const counts = new Map()

  return {
    /** @param {Entry} entry @param {string} code @param {string} reason */
    add (entry, code, reason) {
      const count = (counts.get(code) ?? 0) + 1
      counts.set(code, count)
      if (count <= show) write(`${noun} ${entry.place}: ${code}: ${visible(reason)}\n`)
      rejects?.add({ [noun]: entry.place, code, reason }, entry.raw)
    },

    /** Whether the file takes no more before `ready`. */
    get isFull () { return rejects?.isFull ?? false },
    /** @param {AbortSignal} signal @throws {import('../../src/errors.js').FreshetError} FILE_UNUSABLE */
    ready: async (signal) => rejects?.ready(signal),

    /**
     * Writes the numbers, and resolves when the file is complete.
     * @param {(code: string) => string | null} [adviceOf] what to do about records with this code
     * @throws {import('../../src/errors.js').FreshetError} FILE_UNUSABLE
     */
    async close (adviceOf = () => null) {
      for (const [code, count] of counts) {
        const advice = adviceOf(code)
        write(`${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'} refused: ${code}${advice ? `; ${advice}` : ''}\n`)
      }
      if (!rejects && [...counts.values()].some((count) => count > show)) write('--rejects FILE writes all of them to a file\n')
      await rejects?.close()
    }
  }
}

const MAX_CHARACTER_BYTES = 4

/** @typedef {Awaited<ReturnType<typeof openRejects>>} Rejects */

/**
 * Creates the file, or empties it.
 * @param {string} path @param {{ dev: number, ino: number }} input the file that is read
 * @throws {FreshetError} FILE_UNUSABLE
 */
export async function openRejects (path, input) {
  /** @param {Error} cause @param {object} [facts] */
  const unusable = (cause, facts) => new FreshetError('FILE_UNUSABLE',
    `rejects: ${path} (--rejects) cannot be written: ${cause.message}; name another file`, { cause, ...facts })
  const there = await stat(path).catch(() => null)
  if (there?.isFile() && there.ino === input.ino && there.dev === input.dev) throw unusable(new Error('it is the input itself'))
  const file = await open(path, 'w').catch((error) => { throw unusable(error) })
  const stream = file.createWriteStream()
  /** @type {Error | null} */
  let failure = null
  stream.on('error', (error) => { failure ??= unusable(error, { exitStatus: 1 }) })

  return {
    /** @param {Record<string, unknown>} facts @param {Buffer | null} raw */
    add: (facts, raw) => { if (!failure) stream.write(JSON.stringify({ ...facts, ...rawOf(raw) }) + '\n') },
    get isFull () { return stream.writableNeedDrain || failure !== null },

    /** Resolves when there is room, or `signal` is aborted. @param {AbortSignal} signal @throws {FreshetError} FILE_UNUSABLE */
    async ready (signal) {
      if (stream.writableNeedDrain && !failure) await once(stream, 'drain', { signal }).catch(() => {})
      if (failure) throw failure
    },

    /** Resolves when everything is written. @throws {FreshetError} FILE_UNUSABLE */
    async close () {
      if (!stream.closed) {
        stream.end()
        await once(stream, 'close').catch(() => {})
      }
      if (failure) throw failure
    }
  }
}

/** @param {Buffer | null} raw */
function rawOf (raw) {
  if (raw === null) return {}
  const isLonger = raw.length > RAW_BYTES
  const bytes = raw.subarray(0, RAW_BYTES)
  const whole = isLonger ? wholeCharacters(bytes) : bytes
  const text = isUtf8(whole) ? { raw: whole.toString() } : { raw: bytes.toString('base64'), encoding: 'base64' }
  return isLonger ? { ...text, truncated: true } : text
}

/** Without a character that the end cuts. @param {Buffer} bytes */
function wholeCharacters (bytes) {
  for (let less = 0; less < MAX_CHARACTER_BYTES; less++) {
    const start = bytes.subarray(0, bytes.length - less)
    if (isUtf8(start)) return start
  }
  return bytes
}
