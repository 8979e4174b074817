/**
 * Open, high, low and close of each step that has a price.
 * @param {{ at: number, price: string }[]} points the oldest first @param {{ from: number, to: number, stepMs: number }} range
 * @returns {{ at: number, open: string, high: string, low: string, close: string }[]} `at`: begin of the step
 */
export function candles (points, { from, to, stepMs }) {
  /** @type {Map<number, { at: number, open: string, high: string, low: string, close: string }>} */
  const steps = new Map()
  for (const { at, price } of points) {
    if (at < from || at > to) continue
    const start = from + Math.floor((at - from) / stepMs) * stepMs
    const one = steps.get(start)
    if (one === undefined) {
      steps.set(start, { at: start, open: price, high: price, low: price, close: price })
      continue
    }
    if (Number(price) > Number(one.high)) one.high = price
    if (Number(price) < Number(one.low)) one.low = price
    one.close = price
  }
  return [...steps.values()]
}
