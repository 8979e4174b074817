/**
 * A parser for RESP2 replies, in memory that is used again. Following a log at 30 MB/s with new buffers makes the garbage
 * collector run several times a second, which costs more than reading the log. What is no reply of a server is an error before it
 * fills the memory.
 *
 *     half A    | lent reply            | arriving ...    |        <- bytes
 *     half B    | the previous one, lent                  |
 *
 * Lent replies point into the memory; other replies are copies. A turn switches the half that bytes arrive in, so a lent reply
 * is valid until the second next turn.
 */
import { NOT_RESP } from './reply-frames.js'

const FIRST_BYTES = 1024 * 1024
/** memory that grew beyond it is dropped */
const LARGE_BYTES = 4 * 1024 * 1024
/** status, number or error; servers send shorter ones */
const MAX_LINE_BYTES = 64 * 1024
/** a view reads at least one entry of each partition at once, and an entry is a batch (view/log-reply-size.js) */
const MAX_REPLY_BYTES = 256 * 1024 * 1024

const CR = 13
const MINUS = 45
const ZERO = 48
const STRING = 36
const ARRAY = 42
const NUMBER = 58
const ERROR = 45
const STATUS = 43
const NINE = 57
const TYPES = new Set([STRING, ARRAY, NUMBER, ERROR, STATUS])

/** An error reply, as the server words it. */
export class ReplyError extends Error {
  name = 'ReplyError'
}

export class ReplyMemory {
  #memory = Buffer.allocUnsafeSlow(FIRST_BYTES)
  #other = Buffer.alloc(0)
  /** nothing before it may be overwritten */
  #floor = 0
  /** where the next reply begins */
  #from = 0
  /** where the first part of it begins that is not parsed yet */
  #at = 0
  #end = 0
  /** missing parts of each open array, the outermost first @type {number[]} */
  #missing = []

  /** Bytes of the next reply that have arrived. */
  get partBytes () { return this.#end - this.#from }

  /** @param {Uint8Array} bytes copied @throws {Error} the reply is too large */
  append (bytes) {
    if (this.partBytes > MAX_REPLY_BYTES) throw tooLarge()
    if (this.#end + bytes.length > this.#memory.length) this.#makeRoom(bytes.length)
    this.#memory.set(bytes, this.#end)
    this.#end += bytes.length
  }

  /** Later bytes go into the other half. */
  turn () {
    const [memory, arrived] = [this.#memory, this.#end - this.#from]
    const isFit = this.#other.length <= LARGE_BYTES && this.#other.length >= arrived
    this.#memory = isFit ? this.#other : Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, 2 * arrived))
    this.#other = memory
    this.#move(memory, 0)
  }

  /** Whether a whole reply has arrived. @throws {Error} it is not RESP2 */
  isWhole () {
    const memory = this.#memory
    for (;;) {
      if (this.#at === this.#end) return false
      const type = memory[this.#at]
      if (!TYPES.has(type)) throw notResp(type)
      const end = this.#lineEnd()
      if (end === -1) {
        if (this.#end - this.#at > MAX_LINE_BYTES) throw new Error(`${NOT_RESP}: a line of more than ${MAX_LINE_BYTES} bytes`)
        return false
      }
      let next = end + 2
      if (type === STRING) {
        const length = this.#number(this.#at + 1)
        if (length > MAX_REPLY_BYTES) throw tooLarge()
        if (length >= 0) next += length + 2
        if (next > this.#end) return false
      }
      const count = type === ARRAY ? this.#number(this.#at + 1) : 0
      this.#at = next
      if (count > 0) this.#missing.push(count)
      else if (this.#endPart()) return true
    }
  }

  /**
   * The whole reply that has arrived.
   * @param {boolean} isLent its strings lie in this memory
   * @returns {any} strings are Buffers
   */
  take (isLent) {
    const end = this.#at
    this.#at = this.#from
    const reply = this.#part(isLent)
    this.#from = this.#at = end
    if (isLent) this.#floor = end
    else if (end === this.#end) this.#empty()
    return reply
  }

  #empty () {
    this.#from = this.#at = this.#end = this.#floor
    if (this.#floor === 0 && this.#memory.length > LARGE_BYTES) this.#memory = Buffer.allocUnsafeSlow(FIRST_BYTES)
  }

  /** @param {boolean} isLent @returns {any} */
  #part (isLent) {
    const from = this.#at + 1
    const end = this.#lineEnd()
    const type = this.#memory[this.#at]
    this.#at = end + 2
    if (type === ARRAY) {
      const count = this.#number(from)
      if (count < 0) return null
      const parts = new Array(count)
      for (let i = 0; i < count; i++) parts[i] = this.#part(isLent)
      return parts
    }
    if (type === NUMBER) return this.#number(from)
    if (type === ERROR) return new ReplyError(this.#memory.toString('utf8', from, end))
    if (type !== STRING) return Buffer.from(this.#memory.subarray(from, end))
    const length = this.#number(from)
    if (length < 0) return null
    const at = this.#at
    this.#at += length + 2
    const bytes = this.#memory.subarray(at, at + length)
    return isLent ? bytes : Buffer.from(bytes)
  }

  /** @returns {boolean} whether it was the last part of the reply */
  #endPart () {
    const missing = this.#missing
    while (missing.length > 0 && --missing[missing.length - 1] === 0) missing.pop()
    return missing.length === 0
  }

  /** Where the line that begins here ends, -1 = not arrived. */
  #lineEnd () {
    const memory = this.#memory
    const last = this.#end - 1
    for (let at = this.#at; at < last; at++) if (memory[at] === CR) return at
    return -1
  }

  /** @param {number} at @throws {Error} it is not RESP2 */
  #number (at) {
    const memory = this.#memory
    const isNegative = memory[at] === MINUS
    let number = 0
    for (let i = memory[at] < ZERO ? at + 1 : at; memory[i] !== CR; i++) {
      if (memory[i] < ZERO || memory[i] > NINE) throw notResp(memory[i])
      number = number * 10 + memory[i] - ZERO
    }
    return isNegative ? -number : number
  }

  /** @param {number} bytes more */
  #makeRoom (bytes) {
    const [memory, arrived] = [this.#memory, this.#end - this.#from]
    if (this.#floor + arrived + bytes <= memory.length) return this.#move(memory, this.#floor)
    // lent replies keep the old memory alive
    this.#memory = Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, 2 * (arrived + bytes)))
    this.#move(memory, 0)
  }

  /** Copies the next reply, as far as it has arrived. @param {Buffer} from @param {number} to */
  #move (from, to) {
    const arrived = this.#end - this.#from
    from.copy(this.#memory, to, this.#from, this.#end)
    this.#at += to - this.#from
    this.#floor = this.#from = to
    this.#end = to + arrived
  }
}

const tooLarge = () => new Error(`a reply has more than ${MAX_REPLY_BYTES / 1024 / 1024} MiB`)

/** @param {number} byte */
const notResp = (byte) => new Error(`${NOT_RESP}: unexpected byte ${byte}`)
