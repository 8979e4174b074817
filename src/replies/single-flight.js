/** Concurrent calls for the same key share one result, failures included. Nothing is kept when it is there. */

/** @template T */
export class SingleFlight {
  /** @type {Map<string, { result: Promise<T>, clients: number }>} */
  #flights = new Map()

  /**
   * @param {string} key
   * @param {(isWanted: () => boolean) => Promise<T>} work `isWanted`: false when all clients are gone
   * @param {(gone: () => void) => void} [onGone] calls back when the client of this call is gone; default: never
   * @returns {{ result: Promise<T>, isFirst: boolean }} `isFirst`: this call started the work
   */
  join (key, work, onGone = () => {}) {
    const running = this.#flights.get(key)
    const flight = running ?? { result: /** @type {Promise<T>} */ (/** @type {unknown} */ (null)), clients: 0 }
    flight.clients++
    onGone(() => { flight.clients-- })
    if (running) return { result: running.result, isFirst: false }
    this.#flights.set(key, flight)
    flight.result = work(() => flight.clients > 0).finally(() => this.#flights.delete(key))
    return { result: flight.result, isFirst: true }
  }
}
