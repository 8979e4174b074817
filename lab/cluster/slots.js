/** Moves slots of a cluster to another primary: atomically, which takes Valkey 9, or key by key. */
import { until } from './until.js'

/** @typedef {import('../../src/store/index.js').Connection} Connection */
/** @typedef {{ admin: Connection, port: number }} Primary */

/** a busy machine may need as long */
const DEADLINE_MS = 60_000
const ENDS = ['success', 'failed', 'canceled']
/** until a move counts as impossible */
const MOST_FAILURES = 5
const KEYS_AT_ONCE = 100

/**
 * @param {Primary[]} primaries
 * @param {{ slots: number[], to: number, isAtomic: boolean, isTogether?: boolean, mostFailures?: number }} move `to`: index of a primary;
 *   `isTogether`: all slots of an owner by one command
 * @returns {Promise<{ moved: number, failed: number }>} slots, and atomic moves that failed and were repeated up to `mostFailures`
 */
export async function moveSlots (primaries, { slots, to, isAtomic, isTogether = false, mostFailures = MOST_FAILURES }) {
  const admins = primaries.map(({ admin }) => admin)
  const ids = await Promise.all(admins.map(async (admin) => String(await admin.send('CLUSTER', 'MYID'))))
  const counts = { moved: 0, failed: 0 }
  const owners = await Promise.all(slots.map((slot) => ownerOf(admins[to], ids, slot)))
  const own = slots.map((slot, i) => ({ slot, owner: owners[i] })).filter(({ owner }) => owner !== to)
  const groups = isTogether
    ? ids.map((_, owner) => own.filter((one) => one.owner === owner)).filter((group) => group.length > 0)
    : own.map((one) => [one])
  for (const group of groups) {
    const [{ owner }] = group
    const move = { slots: group.map(({ slot }) => slot), from: admins[owner], target: admins[to], id: ids[to], port: primaries[to].port }
    const failed = isAtomic ? await moveAtomically(move, mostFailures) : await moveKeyByKey(move, { admins, sourceId: ids[owner] })
    counts.failed += failed
    if (failed < mostFailures) counts.moved += group.length
  }
  return counts
}

/** A node that has just joined may not know the owner yet. @param {Connection} admin @param {string[]} ids @param {number} slot */
const ownerOf = async (admin, ids, slot) => (await until(async () => {
  const nodes = String(await admin.send('CLUSTER', 'NODES')).split('\n')
  const owner = ids.findIndex((id) => nodes.some((line) => line.startsWith(id) && hasSlot(line, slot)))
  return owner !== -1 && { owner }
}, { deadlineMs: DEADLINE_MS })).owner

/** @param {string} line of CLUSTER NODES @param {number} slot */
const hasSlot = (line, slot) => line.split(' ').slice(8).some((range) => {
  const [first, last = first] = range.split('-').map(Number)
  return slot >= first && slot <= last
})

/** @typedef {{ slots: number[], from: Connection, target: Connection, id: string, port: number }} Move */

/** @param {Move} move @param {number} mostFailures @returns {Promise<number>} failures */
async function moveAtomically ({ slots, from, id }, mostFailures) {
  for (let failed = 0; ; failed++) {
    if (failed === mostFailures) return failed
    await until(async () => {
      await from.send('CLUSTER', 'MIGRATESLOTS', 'SLOTSRANGE', ...slots.flatMap((slot) => [slot, slot]), 'NODE', id)
    }, { deadlineMs: DEADLINE_MS })
    const { state } = await until(async () => {
      const [latest] = await from.send('CLUSTER', 'GETSLOTMIGRATIONS')
      const state = String(latest[latest.findIndex((/** @type {any} */ word) => String(word) === 'state') + 1])
      return ENDS.includes(state) && { state }
    }, { deadlineMs: DEADLINE_MS })
    if (state === 'success') return failed
  }
}

/** @param {Move} move @param {{ admins: Connection[], sourceId: string }} cluster */
async function moveKeyByKey ({ slots: [slot], from, target, id, port }, { admins, sourceId }) {
  await target.send('CLUSTER', 'SETSLOT', slot, 'IMPORTING', sourceId)
  await from.send('CLUSTER', 'SETSLOT', slot, 'MIGRATING', id)
  for (;;) {
    const keys = await from.send('CLUSTER', 'GETKEYSINSLOT', slot, KEYS_AT_ONCE)
    if (keys.length === 0) break
    await from.send('MIGRATE', '127.0.0.1', port, '', 0, 10_000, 'KEYS', ...keys)
  }
  await target.send('CLUSTER', 'SETSLOT', slot, 'NODE', id)
  await from.send('CLUSTER', 'SETSLOT', slot, 'NODE', id)
  for (const admin of admins) await admin.send('CLUSTER', 'SETSLOT', slot, 'NODE', id).catch(() => {})
  return 0
}
