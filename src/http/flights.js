/**
 * Work that several want at the same time is done once: who comes while it is under way waits for it. Nothing is kept
 * when it is over, and a failure is everybody's.
 */

/** @template T */
export class Flights {
  /** @type {Map<string, Promise<T>>} */
  #flights = new Map()

  /**
   * @param {string} name @param {() => Promise<T>} work
   * @returns {{ result: Promise<T>, isFirst: boolean }} `isFirst`: the work began with this call
   */
  join (name, work) {
    const underWay = this.#flights.get(name)
    if (underWay) return { result: underWay, isFirst: false }
    const result = work().finally(() => this.#flights.delete(name))
    this.#flights.set(name, result)
    return { result, isFirst: true }
  }
}
