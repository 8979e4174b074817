/**
 * Progress of a writer, once a second: a line that is overwritten on a terminal, a log line elsewhere. The rate is that
 * of all items that the servers decided on, late ones too.
 */
import { addAccounts, decidedOf, refusedOf } from '../src/pipeline/index.js'

const EVERY_MS = 1000
/** ECMA-48 8.3.41 */
const ERASE_LINE = '\x1b[2K'

/**
 * @param {{ log: import('pino').Logger, quiet?: boolean, terminal?: boolean, write?: (text: string) => void }} options
 */
export function createProgress ({ log, quiet = false, terminal = process.stderr.isTTY, write = (text) => process.stderr.write(text) }) {
  /** @type {import('../src/pipeline/index.js').Account[]} */
  const accounts = []
  let lastDecided = 0
  let lastAt = performance.now()
  const started = lastAt
  let drawn = false

  const timer = quiet ? undefined : setInterval(show, EVERY_MS)

  function show () {
    if (accounts.length === 0) return
    const now = performance.now()
    // writers that have not reported yet are holes in the array
    const account = addAccounts(accounts.filter(() => true))
    const { offered, items, dropped, retried } = account
    const decided = decidedOf(account)
    const itemsPerSecond = Math.round((decided - lastDecided) * 1000 / (now - lastAt))
    lastDecided = decided
    lastAt = now
    const late = decided - items
    const refused = refusedOf(account) - late
    const figures = { items, itemsPerSecond, unacknowledged: offered - decided - refused - dropped, late, refused, dropped, retried }
    if (!terminal) return log.info(figures, 'writing')
    const { unacknowledged } = figures
    const others = Object.entries({ unacknowledged, late, refused, dropped, retried }).filter(([, n]) => n > 0)
    const counts = others.map(([name, n]) => `  ${grouped(n)} ${name}`).join('')
    write(
      `\r${ERASE_LINE}${Math.round((now - started) / 1000)} s  ${grouped(itemsPerSecond)} items/s  ${grouped(items)} acknowledged${counts}`
    )
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
