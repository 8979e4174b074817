/**
 * Which labels the series of a PromQL query have, and where it joins series that never meet: Prometheus joins both sides of
 * an operator by all of their labels, and answers nothing, without a word, where these differ.
 *
 * Parses what our queries use: operators with their precedence, aggregations with `by` before or behind, functions.
 */
import { seriesOf } from './queries.js'

const AGGREGATIONS = ['sum', 'max', 'min', 'avg', 'count', 'topk']
const PRECEDENCE = [['or'], ['and', 'unless'], ['==', '!=', '>', '<', '>=', '<='], ['+', '-'], ['*', '/', '%']]
const TOKEN = /"(?:[^"\\]|\\.)*"|\{(?:"(?:[^"\\]|\\.)*"|[^}"])*\}|\[[^\]]*\]|[a-zA-Z_:][\w:]*|\d+(?:\.\d+)?|==|!=|>=|<=|[-+*/%<>(),]/g

/** @typedef {Set<string> | null} Labels null = a number */

/**
 * @param {string} query @param {import('./queries.js').Described} known
 * @returns {string[]} a sentence for each fault
 */
export function checkJoins (query, known) {
  const series = seriesOf(known)
  const tokens = query.match(TOKEN) ?? []
  /** @type {string[]} */
  const faults = []
  let at = 0
  const next = () => tokens[at++]
  const take = (/** @type {string} */ wanted) => {
    const token = next()
    if (token !== wanted) throw new Error(`${wanted} is expected, not ${token}, in ${query}`)
  }

  /** @param {number} level @returns {Labels} */
  function operation (level) {
    if (level === PRECEDENCE.length) return operand()
    let left = operation(level + 1)
    while (PRECEDENCE[level].includes(tokens[at])) {
      const operator = next()
      const shared = ['on', 'ignoring', 'bool'].includes(tokens[at])
      if (shared) throw new Error(`${tokens[at]} is not read by this check: ${query}`)
      const right = operation(level + 1)
      if (left && right && named(left) !== named(right)) {
        faults.push(`${operator} joins series by (${named(left)}) with series by (${named(right)})`)
      }
      left = left ?? right
    }
    return left
  }

  /** @returns {Labels} */
  function operand () {
    const token = next()
    if (token === '(') {
      const inner = operation(0)
      take(')')
      return inner
    }
    if (/^\d/.test(token)) return null
    if (AGGREGATIONS.includes(token)) return aggregation()
    if (tokens[at] === '(') return call(token)
    const labels = new Set([...(series.get(token)?.labels ?? []), 'job', 'instance'])
    while (/^[{[]/.test(tokens[at] ?? '')) next()
    return labels
  }

  /** @returns {Labels} */
  function aggregation () {
    const before = by()
    take('(')
    operation(0)
    take(')')
    return before ?? by() ?? new Set()
  }

  /** @returns {Set<string> | null} */
  function by () {
    if (tokens[at] !== 'by') return null
    next()
    take('(')
    const labels = new Set()
    for (let token = next(); token !== ')'; token = next()) if (token !== ',') labels.add(token)
    return labels
  }

  /** @param {string} name @returns {Labels} */
  function call (name) {
    take('(')
    /** @type {Labels[]} */
    const given = []
    while (tokens[at] !== ')') {
      given.push(operation(0))
      if (tokens[at] === ',') next()
    }
    take(')')
    if (name === 'scalar' || name === 'time') return null
    if (name === 'vector') return new Set()
    const labels = given.find((one) => one !== null) ?? null
    return name === 'histogram_quantile' && labels ? new Set([...labels].filter((label) => label !== 'le')) : labels
  }

  operation(0)
  if (at < tokens.length) throw new Error(`${tokens[at]} is not expected in ${query}`)
  return faults
}

/** @param {Set<string>} labels */
const named = (labels) => [...labels].sort().join(', ')
