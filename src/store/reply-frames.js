/**
 * Where replies end, and whether they are RESP2. It looks at the heads of parts and skips strings, so a page of items costs a few
 * steps for each item, whatever its size.
 *
 *     *2\r\n  $5\r\n hello \r\n  :17\r\n
 *     head    head  skipped     head
 *
 * ioredis 6.0.0 parses anything: a null without a command or inside a push ends the process, an array of a billion parts is
 * allocated when it is announced, and a line without an end is kept. So bytes come here first. Replies that
 * reply-memory.js parses are checked here, too.
 */

/** status, number or error; servers send shorter ones */
const MAX_LINE_BYTES = 64 * 1024
/** requests are bounded so that their replies have less (src/read-size.js) */
const MAX_REPLY_BYTES = 64 * 1024 * 1024
/** of one reply, in all its arrays */
const MAX_PARTS = 1024 * 1024
/** replies of scripts and transactions have up to 6 */
const MAX_DEPTH = 32
const MAX_DIGITS = 20

const CR = 13
const LF = 10
const PLUS = 43
const MINUS = 45
const ZERO = 48
const NINE = 57
const STRING = 36
const ARRAY = 42
const NUMBER = 58
const ERROR = MINUS
const STATUS = PLUS
const TYPES = new Set([STRING, ARRAY, NUMBER, ERROR, STATUS])
/** the line end behind a string */
const STRING_END = 1
const NONE = 0
const NOT_RESP = 'its replies are not those of Valkey or Redis'

export class ReplyFrames {
  /** missing parts of each open array, the outermost first @type {number[]} */
  #missing = []
  /** announced in the arrays of this reply */
  #parts = 0
  /** of the line that is being read */
  #type = NONE
  #lineBytes = 0
  #digits = 0
  #number = 0
  #isNegative = false
  /** its CR has come */
  #isEnding = false
  /** bytes of a string that have not come */
  #left = 0
  /** Bytes of the next reply that have arrived. */
  partBytes = 0
  #maxBytes

  /** @param {number} [maxBytes] of a reply */
  constructor (maxBytes = MAX_REPLY_BYTES) {
    this.#maxBytes = maxBytes
  }

  /** @param {Uint8Array} bytes the next ones @returns {number} replies that ended in them @throws {Error} they are no replies */
  take (bytes) {
    let replies = 0
    let begin = 0
    for (let at = 0; at < bytes.length;) {
      const end = this.#type === NONE ? wholeString(bytes, at) : NONE
      if (end !== NONE) {
        at = end
        if (!this.#isReplyEnd()) continue
      } else if (this.#left > 0) {
        const step = Math.min(this.#left, bytes.length - at)
        this.#left -= step
        at += step
        continue
      } else if (!this.#isPartEnd(bytes[at++]) || !this.#isReplyEnd()) continue
      replies++
      begin = at
      this.partBytes = this.#parts = 0
    }
    this.partBytes += bytes.length - begin
    if (this.partBytes + this.#left > this.#maxBytes) throw new Error(`a reply has more than ${this.#maxBytes / 1024 / 1024} MiB`)
    return replies
  }

  /** @param {number} byte of a line, or the first of a part */
  #isPartEnd (byte) {
    if (this.#type === NONE) {
      if (!TYPES.has(byte)) throw notResp(byte)
      this.#begin(byte)
      return false
    }
    if (this.#isEnding) {
      if (byte !== LF) throw notResp(byte)
      this.#isEnding = false
      return this.#isLastLine()
    }
    if (byte === CR) this.#isEnding = true
    else this.#takeOf(byte)
    return false
  }

  /** @param {number} type */
  #begin (type) {
    this.#type = type
    this.#lineBytes = this.#digits = this.#number = 0
    this.#isNegative = false
  }

  /** @param {number} byte of a line */
  #takeOf (byte) {
    const type = this.#type
    if (++this.#lineBytes > MAX_LINE_BYTES) throw new Error(`${NOT_RESP}: a line of more than ${MAX_LINE_BYTES} bytes`)
    if (type === STATUS || type === ERROR) return
    if (this.#lineBytes === 1 && (byte === MINUS || (byte === PLUS && type === NUMBER)) && type !== STRING_END) {
      this.#isNegative = byte === MINUS
      return
    }
    if (byte < ZERO || byte > NINE || type === STRING_END || ++this.#digits > MAX_DIGITS) throw notResp(byte)
    this.#number = this.#number * 10 + byte - ZERO
  }

  /** A line ended. @returns {boolean} and the part with it */
  #isLastLine () {
    const [type, number] = [this.#type, this.#number]
    this.#type = NONE
    if (type === STATUS || type === ERROR || type === STRING_END) return true
    if (this.#digits === 0 || (this.#isNegative && type !== NUMBER && number !== 1)) throw notResp(LF)
    if (type === NUMBER || this.#isNegative) return true
    if (type === STRING) {
      this.#left = number
      this.#begin(STRING_END)
      return false
    }
    if (number === 0) return true
    this.#parts += number
    if (this.#parts > MAX_PARTS) throw new Error(`a reply has more than ${MAX_PARTS} parts`)
    this.#missing.push(number)
    if (this.#missing.length > MAX_DEPTH) throw new Error(`a reply has arrays ${this.#missing.length} deep`)
    return false
  }

  /** A part ended. @returns {boolean} and the reply with it */
  #isReplyEnd () {
    const missing = this.#missing
    while (missing.length > 0 && --missing[missing.length - 1] === 0) missing.pop()
    return missing.length === 0
  }
}

/**
 * Most parts are strings, and most have arrived whole.
 * @param {Uint8Array} bytes @param {number} at where a part begins @returns {number} where such a string ends, otherwise NONE
 */
function wholeString (bytes, at) {
  if (bytes[at] !== STRING) return NONE
  let length = 0
  let digit = bytes[++at] - ZERO
  for (let digits = 0; digit >= 0 && digit <= 9 && digits < MAX_DIGITS; digits++) {
    length = length * 10 + digit
    digit = bytes[++at] - ZERO
  }
  const end = at + 2 + length + 2
  const isWhole = bytes[at] === CR && bytes[at - 1] !== STRING && bytes[at + 1] === LF && end <= bytes.length
  return isWhole && bytes[end - 2] === CR && bytes[end - 1] === LF ? end : NONE
}

/** @param {number} byte */
const notResp = (byte) => new Error(`${NOT_RESP}: unexpected byte ${byte}`)
