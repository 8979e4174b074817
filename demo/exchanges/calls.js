/** The calls that an exchange has had: counts by symbol, and the last ones. */

const KEPT = 10_000

/** @typedef {{ n: number, at: number, symbol: string, status: number | null }} Call `at`: ms since 1970; `status`: null = no reply yet */

export function createCalls () {
  /** @type {Map<string, number>} */
  const bySymbol = new Map()
  /** @type {Call[]} a ring */
  const last = []
  let total = 0

  return {
    /** @param {string} symbol @returns {Call} its status is set with the reply */
    add (symbol) {
      const call = { n: ++total, at: Date.now(), symbol, status: null }
      bySymbol.set(symbol, (bySymbol.get(symbol) ?? 0) + 1)
      last[(total - 1) % KEPT] = call
      return call
    },

    /** @param {number} since number of a call @returns all counts, and the calls after it, as far back as they are kept */
    shown (since) {
      const from = Math.max(since, total - KEPT)
      const calls = Array.from({ length: Math.max(0, total - from) }, (_, i) => last[(from + i) % KEPT])
      return { total, symbols: Object.fromEntries(bySymbol), calls }
    },

    /** Starts again at zero. */
    clear () {
      bySymbol.clear()
      last.length = 0
      total = 0
    }
  }
}
