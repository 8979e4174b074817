/**
 * The stored table of costs, and how a count is compared with it. Pure.
 *
 *     same architecture, libc, server program and valgrind     all figures to 2 %
 *     another one                                              instructions as a ratio to the anchor, to 4 %; commands and bytes to 2 %
 *
 * One more command a batch, or one more field of an event, can be less than 2 % of instructions; commands and bytes show it.
 *
 * @typedef {import('./valgrind.js').Key} Key
 * @typedef {{ unit: string, instructions: number, commands: number, bytesIn: number, bytesOut: number, replicatedBytes: number }} Cost
 *   of one unit; `replicatedBytes` 0 = not looked at
 * @typedef {{ key: Key, engine: string, rows: Record<string, Cost> }} Table
 * @typedef {{ name: string, unit: string, cost: Cost, ratio: number, faults: string[] }} Compared `ratio` to the anchor
 */
/** Repeats differ by 0.3 %; by up to 1.8 % where an item has few instructions and the machine is busy. */
const LIMIT = 0.02
const LIMIT_ELSEWHERE = 0.04
/** below, a figure moves by chance: instructions of segments, of which an item has few; bytes by the length of a port */
const LEAST = { instructions: 6, commands: 0.001, bytesIn: 1, bytesOut: 1, replicatedBytes: 1 }
const NAMES = Object.freeze({ commands: 'commands', bytesIn: 'bytes in', bytesOut: 'bytes out', replicatedBytes: 'replicated bytes' })

/** @param {Key} a @param {Key} b */
export const isSameKey = (a, b) => JSON.stringify(Object.entries(a).sort()) === JSON.stringify(Object.entries(b).sort())

/**
 * @param {Table} table @param {Key} key of the counts @param {Record<string, Cost>} counted @param {string} anchor
 * @returns {Compared[]}
 */
export function compareCosts (table, key, counted, anchor) {
  const isSame = isSameKey(table.key, key)
  return Object.entries(counted).map(([name, cost]) => {
    const stored = table.rows[name]
    const ratio = cost.instructions / counted[anchor].instructions
    if (!stored) return { name, unit: cost.unit, cost, ratio, faults: ['is not in the table'] }
    const before = stored.instructions / table.rows[anchor].instructions
    const faults = [
      ...(isSame
        ? Math.abs(cost.instructions - stored.instructions) <= LEAST.instructions
          ? []
          : moved('instructions', stored.instructions, cost.instructions, LIMIT)
        : moved('ratio to the anchor', before, ratio, LIMIT_ELSEWHERE)),
      ...Object.entries(NAMES).flatMap(([of, text]) => {
        const [was, is] = [stored, cost].map((one) => one[/** @type {keyof typeof NAMES} */ (of)])
        return Math.abs(is - was) <= LEAST[/** @type {keyof typeof NAMES} */ (of)] ? [] : moved(text, was, is, LIMIT)
      })
    ]
    return { name, unit: cost.unit, cost, ratio, faults }
  })
}

/** @param {string} what @param {number} was @param {number} is @param {number} limit @returns {string[]} */
function moved (what, was, is, limit) {
  const by = is / was - 1
  return Math.abs(by) <= limit ? [] : [`${what} ${shown(was)} -> ${shown(is)} (${by > 0 ? '+' : ''}${(by * 100).toFixed(1)} %)`]
}

/** @param {number} n */
const shown = (n) => n >= 100 ? Math.round(n).toLocaleString('en') : String(Number(n.toPrecision(3)))

/** @param {Compared[]} rows @returns {string} */
export function textOfCosts (rows) {
  const head = ['', 'instructions', 'to anchor', 'commands', 'bytes in', 'bytes out', 'replicated', 'of']
  const lines = rows.map(({ name, unit, cost, ratio, faults }) => [
    `${faults.length > 0 ? 'x ' : '  '}${name}`, shown(cost.instructions), ratio.toFixed(3), shown(cost.commands), shown(cost.bytesIn),
    shown(cost.bytesOut), cost.replicatedBytes > 1 ? shown(cost.replicatedBytes) : '', `one ${unit}`
  ])
  const widths = head.map((_, column) => Math.max(...[head, ...lines].map((line) => line[column].length)))
  const padded = (/** @type {string[]} */ line) =>
    line.map((cell, i) => i === 0 || i === line.length - 1 ? cell.padEnd(widths[i]) : cell.padStart(widths[i])).join('  ').trimEnd()
  return [head, ...lines].map(padded).join('\n')
}
