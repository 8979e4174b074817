/**
 * The conditions of a result: one line for a caption, rows for a page.
 */

import { needsShapes } from '../plan/plan-changes.js'
import { LIMIT_CORES } from '../systems/orders/quota.js'

/** @typedef {import('../analysis/index.js').Result} Result */
/** @typedef {import('../plan/index.js').Plan} Plan */

/** @param {Result} result @param {Plan} plan @returns {string} */
export function captionOf (result, plan) {
  return rowsOf(result, plan).filter(({ caption }) => caption).map(({ caption }) => caption).join(', ')
}

/**
 * @param {Result} result
 * @param {Plan} plan
 * @returns {{ name: string, value: string, caption: string }[]} caption: its part of the one line; empty = left out
 */
export function rowsOf (result, plan) {
  const { engine, node, machine, commit, dirty, startedAt, settings } = result
  const day = startedAt.slice(0, 10)
  const bytes = valueBytes(result, plan)
  const { rounds, seconds, warmUpSeconds, rttMs, target, aws } = settings
  const version = `${(commit ?? 'unknown').slice(0, 10)}${dirty ? ' with uncommitted changes' : ''}`
  const row = (/** @type {string} */ name, /** @type {string} */ value, caption = value) => ({ name, value, caption })
  return [
    row('Engine', engine || 'unknown'),
    row('Server', `${target ? `${target}, not the lab's` : 'started by the lab for each measurement, on the same machine as the load'}` +
      `${nodesText(result)}`, target ? `server ${target}` : ''),
    ...(aws ? [row('ElastiCache', `${aws.nodeType}, replication group ${aws.name}`, aws.nodeType)] : []),
    row(target ? 'Machine of the load' : 'Machine',
      `${machine.cpu}, ${machine.cores} cores, ${(machine.memoryBytes / 2 ** 30).toFixed(1)} GiB, ${machine.platform}`,
      `${machine.cpu}, ${machine.cores} cores`),
    row('Node.js', node, `Node.js ${node.replace(/^v/, '')}`),
    row('Commit', version, `commit ${version}`),
    ...(bytes === '' ? [] : [row('Values', bytes)]),
    row('Started', startedAt, day),
    row('Rounds', `${rounds}, arms interleaved`, `${rounds} ${rounds === 1 ? 'round' : 'rounds'} of ${seconds} s`),
    row('Window', `${seconds} s after ${warmUpSeconds} s of warm-up`, ''),
    row('Delay between client and server', rttMs > 0 ? `${rttMs} ms` : 'none', rttMs > 0 ? `${rttMs} ms between client and server` : ''),
    ...limitOf(result, plan),
    row('Settings of every arm', textOf(plan.fixed), '')
  ]
}

/** Where a plan limits the processor time of each process. @param {Result} result @param {Plan} plan */
function limitOf ({ samples }, { arms }) {
  const those = samples.filter(({ arm, orders }) => orders && arms[arm]?.contention?.everywhere)
  if (those.length === 0) return []
  const isLimited = those.every(({ orders }) => orders?.isLimited)
  const value = isLimited ? `limited to ${LIMIT_CORES} core by a control group` : 'not limited, because there are no control groups here'
  return [{ name: 'Processor time of each process', value, caption: isLimited ? '' : 'processor time not limited' }]
}

/** @param {Result} result @returns {string} */
function nodesText ({ samples, plan }) {
  // arms differ in their servers
  if (needsShapes(plan)) return ''
  const nodes = samples.find((sample) => sample.nodes.length > 0)?.nodes
  if (!nodes) return ''
  const replicas = nodes.filter(({ role }) => role === 'replica').length
  return `; 1 primary, ${replicas} ${replicas === 1 ? 'replica' : 'replicas'}`
}

/**
 * From the plan, or else from what was sent.
 * @param {Result} result @param {Plan} plan @returns {string} empty: a load without values, such as orders
 */
function valueBytes ({ samples }, { fixed, levels, arms }) {
  const all = [fixed, ...Object.values(levels).map(({ settings }) => settings), ...Object.values(arms).map(({ settings }) => settings)]
  const said = [...new Set(all.map(({ valueBytes }) => valueBytes).filter((bytes) => typeof bytes === 'number'))].sort((a, b) => a - b)
  if (said.length > 0) return `${said.map((bytes) => bytes.toLocaleString('en')).join(' or ')}-byte values`
  const sent = samples.filter(({ items, bytes }) => items > 0 && bytes > 0).map(({ items, bytes }) => Math.round(bytes / items))
    .sort((a, b) => a - b)
  if (sent.length === 0) return ''
  const [least, most] = [sent[0], sent[sent.length - 1]]
  return least === most ? `${least} bytes an item` : `${least} to ${most} bytes an item`
}

/** @param {Record<string, unknown>} settings @returns {string} */
export const textOf = (settings) => Object.entries(settings)
  .map(([name, value]) => `${name} ${typeof value === 'number' ? value.toLocaleString('en') : value}`).join(', ') || 'defaults'
