import { Command } from 'ioredis'

/**
 * Several commands as one write whose bytes are made already; replies are counted, the last one and the first error
 * kept. Errors inside the reply of EXEC are errors.
 */
export class Encoded extends Command {
  #bytes
  /** @param {Buffer} bytes @param {number} replies @param {(error: Error | null, last: any) => void} done */
  constructor (bytes, replies, done) {
    super('encoded', [])
    this.#bytes = bytes
    this.isTraced = true
    /** @type {Error | null} */
    let failed = null
    let missing = replies
    this.resolve = (/** @type {any} */ reply) => {
      if (Array.isArray(reply)) failed ??= reply.find((one) => one instanceof Error) ?? null
      if (--missing === 0) done(failed, reply)
    }
    this.reject = (/** @type {Error} */ error) => {
      failed ??= error
      if (--missing === 0) done(failed, null)
    }
  }

  toWritable () {
    return /** @type {any} */ (this.#bytes)
  }
}
