/**
 * Memory in which replies lie while they are read, used over and over. A log is followed at 30 MB/s and more: as many new
 * buffers would have the collector run several times a second, which costs more than reading the log.
 *
 *     half A    | lent reply            | arriving ...    |        <- bytes
 *     half B    | the one before, lent                    |
 *
 * Replies that are lent point into the memory; others are copied out of it. A turn makes the other half the one that bytes
 * arrive in, so what was lent is good until the second next turn.
 *
 * Bytes are what a Valkey or Redis sends: somebody has looked (reply-check.js).
 */

const FIRST_BYTES = 1024 * 1024
/** a half that grew beyond it is let go of */
const LARGE_BYTES = 4 * 1024 * 1024

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
  #memory = Buffer.allocUnsafeSlow(FIRST_BYTES)
  #other = Buffer.allocUnsafeSlow(FIRST_BYTES)
  /** nothing in front of it may be overwritten */
  #floor = 0
  /** where the next reply begins */
  #from = 0
  /** where a part of it begins that has not arrived, or is not looked at yet */
  #at = 0
  #end = 0
  /** parts that each open array still misses, the outermost first @type {number[]} */
  #missing = []

  /** @param {Uint8Array} bytes copied */
  append (bytes) {
    if (this.#end + bytes.length > this.#memory.length) this.#makeRoom(bytes.length)
    this.#memory.set(bytes, this.#end)
    this.#end += bytes.length
  }

  /** Bytes that come from now on go into the other half. */
  turn () {
    const [memory, arrived] = [this.#memory, this.#end - this.#from]
    const isFit = this.#other.length <= LARGE_BYTES && this.#other.length >= arrived
    this.#memory = isFit ? this.#other : Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, 2 * arrived))
    this.#other = memory
    this.#move(memory, 0)
  }

  /** Whether a whole reply has arrived. */
  isWhole () {
    const memory = this.#memory
    for (;;) {
      const end = this.#lineEnd()
      if (end === -1) return false
      const type = memory[this.#at]
      let next = end + 2
      if (type === STRING) {
        const length = this.#number(this.#at + 1)
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
    else if (end === this.#end) this.#from = this.#at = this.#end = this.#floor
    return reply
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

  /** @returns {boolean} whether it was the last of the reply */
  #endPart () {
    const missing = this.#missing
    while (missing.length > 0 && --missing[missing.length - 1] === 0) missing.pop()
    return missing.length === 0
  }

  /** Where the line ends that begins here, -1 = it has not arrived. */
  #lineEnd () {
    const memory = this.#memory
    const last = this.#end - 1
    for (let at = this.#at; at < last; at++) if (memory[at] === CR) return at
    return -1
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
    // what is lent stays where it is, as long as somebody has it
    this.#memory = Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, 2 * (arrived + bytes)))
    this.#move(memory, 0)
  }

  /** What has arrived of the next reply. @param {Buffer} from @param {number} to */
  #move (from, to) {
    const arrived = this.#end - this.#from
    from.copy(this.#memory, to, this.#from, this.#end)
    this.#at += to - this.#from
    this.#floor = this.#from = to
    this.#end = to + arrived
  }
}
