/**
 * How a long write is going: once a second one line that is written over on a terminal, a log line elsewhere.
 */
import { refusedOf } from './tally.js'

const EVERY_MS = 1000

/**
 * @param {{ log: import('pino').Logger, quiet?: boolean, terminal?: boolean, write?: (text: string) => void }} options
 */
export function createProgress ({ log, quiet = false, terminal = process.stderr.isTTY, write = (text) => process.stderr.write(text) }) {
  /** @type {import('../src/pipeline/pipeline.js').Pipeline['account'][]} */
  const accounts = []
  let lastItems = 0
  let lastAt = performance.now()
  const started = lastAt
  let drawn = false

  const sum = (/** @type {'items' | 'offered' | 'dropped' | 'retried'} */ name) => accounts.reduce((total, account) => total + (account?.[name] ?? 0), 0)
  const timer = quiet ? undefined : setInterval(show, EVERY_MS)

  function show () {
    if (accounts.length === 0) return
    const now = performance.now()
    const items = sum('items')
    const perSecond = Math.round((items - lastItems) * 1000 / (now - lastAt))
    lastItems = items
    lastAt = now
    const refused = accounts.reduce((total, account) => total + (account ? refusedOf(account) : 0), 0)
    const figures = { items, itemsPerSecond: perSecond, unacknowledged: sum('offered') - items - refused - sum('dropped'), refused, dropped: sum('dropped'), retried: sum('retried') }
    if (!terminal) return log.info(figures, 'writing')
    const text = [`${Math.round((now - started) / 1000)} s`, `${grouped(perSecond)} items/s`, `${grouped(items)} acknowledged`,
      ...(['unacknowledged', 'refused', 'dropped', 'retried']).filter((name) => /** @type {any} */ (figures)[name] > 0).map((name) => `${grouped(/** @type {any} */ (figures)[name])} ${name}`)].join('  ')
    write(`\r\x1b[2K${text}`)
    drawn = true
  }

  return {
    /** @param {number} index of the writer @param {typeof accounts[0]} account */
    update (index, account) { accounts[index] = account },
    close () {
      clearInterval(timer)
      if (drawn) write('\n')
      drawn = false
    }
  }
}

/** @param {number} n */
const grouped = (n) => n.toLocaleString('en')
