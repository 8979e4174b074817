/**
 * A parser for RESP2 replies, in memory that is used again. Following a log at 30 MB/s with new buffers makes the garbage
 * collector run several times a second, which costs more than reading the log. reply-frames.js finds where replies end.
 *
 *     half A    | lent reply            | arriving ...    |        <- bytes
 *     half B    | the previous one, lent                  |
 *
 * Lent replies point into the memory; other replies are copies. A turn switches the half that bytes arrive in, so a lent reply
 * is valid until the second next turn.
 */
import { ReplyFrames } from './reply-frames.js'

const FIRST_BYTES = 1024 * 1024
/** memory that grew beyond it is dropped */
const LARGE_BYTES = 4 * 1024 * 1024
/** a view reads at least one entry of each partition at once, and an entry is a batch (view/log-newer.js) */
const MAX_REPLY_BYTES = 256 * 1024 * 1024

const CR = 13
const MINUS = 45
const ZERO = 48
const STRING = 36
const ARRAY = 42
const NUMBER = 58
const ERROR = 45

/** An error reply, as the server words it. */
export class ReplyError extends Error {
  name = 'ReplyError'
}

export class ReplyMemory {
  #frames = new ReplyFrames(MAX_REPLY_BYTES)
  #memory = Buffer.allocUnsafeSlow(FIRST_BYTES)
  #other = Buffer.alloc(0)
  /** nothing before it may be overwritten */
  #floor = 0
  /** where the next reply begins */
  #from = 0
  /** where the part begins that is parsed next */
  #at = 0
  #end = 0

  /** Bytes of the next reply that have arrived. */
  get partBytes () { return this.#frames.partBytes }

  /** @param {Uint8Array} bytes copied @returns {number} replies to `take` that ended in them @throws {Error} they are no replies */
  append (bytes) {
    const replies = this.#frames.take(bytes)
    if (this.#end + bytes.length > this.#memory.length) this.#makeRoom(bytes.length)
    this.#memory.set(bytes, this.#end)
    this.#end += bytes.length
    return replies
  }

  /** Later bytes go into the other half. @param {boolean} [isHeld] what was lent there is still in use, so it is left alone */
  turn (isHeld = false) {
    const [memory, arrived] = [this.#memory, this.#end - this.#from]
    const isFit = !isHeld && this.#other.length <= LARGE_BYTES && this.#other.length >= arrived
    this.#memory = isFit ? this.#other : Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, 2 * arrived))
    this.#other = memory
    this.#move(memory, 0)
  }

  /**
   * The next reply, which has arrived whole.
   * @param {boolean} isLent its strings lie in this memory
   * @returns {any} strings are Buffers
   */
  take (isLent) {
    this.#at = this.#from
    const reply = this.#part(isLent)
    this.#from = this.#at
    if (isLent) this.#floor = this.#at
    else if (this.#at === this.#end) this.#empty()
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

  /** Where the line that begins here ends. */
  #lineEnd () {
    const memory = this.#memory
    let at = this.#at
    while (memory[at] !== CR) at++
    return at
  }

  /** @param {number} at */
  #number (at) {
    const memory = this.#memory
    const isNegative = memory[at] === MINUS
    let number = 0
    for (let i = memory[at] < ZERO ? at + 1 : at; memory[i] !== CR; i++) number = number * 10 + memory[i] - ZERO
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
    this.#floor = this.#from = to
    this.#end = to + arrived
  }
}
