/** Concurrent calls for the same key share one result, failures included. Nothing is kept when it is there. */

/** @template T */
export class SingleFlight {
  /** @type {Map<string, Promise<T>>} */
  #flights = new Map()

  /**
   * @param {string} key @param {() => Promise<T>} work
   * @returns {{ result: Promise<T>, isFirst: boolean }} `isFirst`: this call started the work
   */
  join (key, work) {
    const running = this.#flights.get(key)
    if (running) return { result: running, isFirst: false }
    const result = work().finally(() => this.#flights.delete(key))
    this.#flights.set(key, result)
    return { result, isFirst: true }
  }
}
