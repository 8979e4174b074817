/**
 * When an accepted command counts as acknowledged.
 *
 *     memory    the primary has it
 *     replica   and a replica: a marker and WAIT, on a connection of their own, because WAIT blocks the one that it is sent on
 *     2, 3 ..   and so many replicas
 *     aof       the append-only file of the primary has it: WAITAOF
 *
 *     call of partition 3, call of partition 7, WAIT ──▶ next round: what has come in the meantime
 *
 * A round of a primary sends what is to be decided, of whatever partitions, and a WAIT behind it, in one write; what comes while it runs is
 * sent in the next. Each call writes its time, so the WAIT covers what a rejection rests on, too. WAIT compares replicas with the last
 * write of its own connection, so what was decided on another one is confirmed by a round with a marker. After a failover that round may
 * reach a primary that never had the decision. So it also reads whose the generation is, and confirms only decisions of the lineage that
 * this primary began (admit.lua).
 *
 * @typedef {import('../store/index.js').Connection} Connection
 * @typedef {import('./admission.js').Admitted} Admitted
 * @typedef {{ connection: Connection, replicationId: string }} Primary
 * @typedef {ReturnType<typeof createConfirm>} Confirm
 */
import { setTimeout as pause } from 'node:timers/promises'
import { expectReplicas, lacksScript, replicasOf } from '../store/index.js'
import { FreshetError } from './errors.js'

/** The marker expires after this time. */
const EXPIRE_MS = 60_000
/** Pause before a connection that was lost is asked for again. */
const RETRY_MS = 50

/** What waits for the copies of a level, and their number; null = the primary is enough. @param {string} level @param {number} ms */
function waitOf (level, ms) {
  if (level === 'aof') return { copies: 1, command: ['WAITAOF', 1, 0, ms] }
  const copies = replicasOf(level)
  return copies > 0 ? { copies, command: ['WAIT', copies, ms] } : null
}

/** @typedef {(part: string) => string} KeyOf a part of a partition */

/**
 * Rounds, by connection: one at a time.
 * @param {{ marker: string, durability: string, waitMs: number }} options
 */
function createRounds ({ marker, durability, waitMs }) {
  const { copies, command } = /** @type {NonNullable<ReturnType<typeof waitOf>>} */ (waitOf(durability, waitMs))
  /** @typedef {{ keys: Set<KeyOf>, calls: (() => void)[], found: Promise<Map<KeyOf, unknown[]>> }} Round */
  /** @type {WeakMap<object, { running: Promise<unknown>, next: Round | null }>} */
  const lines = new WeakMap()
  let n = 0

  /** @param {Connection} connection @param {Pick<Round, 'keys' | 'calls'>} what */
  async function run (connection, { keys, calls }) {
    const all = [...keys]
    for (const call of calls) call()
    const markers = all.length > 0 ? [['SET', all[0](marker), ++n, 'PX', EXPIRE_MS]] : []
    const replies = await connection.sendAll([
      ...markers, command, ...all.map((key) => ['HMGET', key('generation'), 'replid', 'lineage'])
    ])
    const [reply, ...generations] = replies.slice(markers.length)
    const confirmed = Number(Array.isArray(reply) ? reply[0] : reply)
    if (confirmed < copies) throw notConfirmed(`(${shownLevel(durability)}) within ${waitMs} ms`)
    return new Map(all.map((key, i) => [key, generations[i]]))
  }

  /** @param {Connection} connection @returns {Round} the next one */
  function nextOf (connection) {
    const line = lines.get(connection) ?? { running: Promise.resolve(), next: null }
    lines.set(connection, line)
    if (line.next !== null) return line.next
    /** @type {Pick<Round, 'keys' | 'calls'>} */
    const what = { keys: new Set(), calls: [] }
    const found = line.running.then(() => {
      line.next = null
      const result = run(connection, what)
      line.running = result.catch(() => {})
      return result
    })
    found.catch(() => {})
    return (line.next = { ...what, found })
  }

  return {
    /**
     * Resolves once what the primary had before is confirmed.
     * @param {Connection} connection @param {KeyOf} key
     * @returns {Promise<unknown[]>} id and lineage in the generation of this partition
     * @throws {FreshetError} NOT_CONFIRMED, and what Connection.send throws
     */
    async confirmed (connection, key) {
      const { keys, found } = nextOf(connection)
      keys.add(key)
      return /** @type {unknown[]} */ ((await found).get(key))
    },

    /**
     * @template T @param {Connection} connection @param {() => Promise<T>} decide sends one call at once
     * @returns {Promise<{ decided: T, confirmed: Promise<unknown> }>} `confirmed` once this call is; it rejects as `confirmed`
     */
    decided: (connection, decide) => new Promise((resolve, reject) => {
      const { calls, found } = nextOf(connection)
      calls.push(() => { decide().then((decided) => resolve({ decided, confirmed: found }), reject) })
    })
  }
}

/**
 * A connection for one call, and whether that call was all that was sent: scripts that the server does not have yet, and calls that are
 * repeated, are sent behind the WAIT.
 * @param {Connection} connection
 */
function forOneCall (connection) {
  let sent = 0
  /** @type {Connection['runScript']} */
  async function runScript (script, keys, args) {
    if (sent++ > 0 || typeof script === 'string') return connection.runScript(script, keys, args)
    return connection.sendScript(script, keys, args).catch((error) => {
      if (!lacksScript(error)) throw error
      sent++
      return connection.runScript(script, keys, args)
    })
  }
  return {
    connection: /** @type {Connection} */ (Object.assign(Object.create(connection), { runScript })),
    get wasAll () { return sent === 1 }
  }
}

/**
 * @param {{ route: () => { connection: import('../store/index.js').Connection, replicationId: string }, key: (part: string) => string,
 *   marker: string, durability: string, waitMs: number, isClosed?: () => boolean,
 *   rounds?: ReturnType<typeof createRounds> }} options `route`: the present connection to the primary, for this only; `key`: of a part of
 *   the partition; `marker`: part that no other process writes; `isClosed`: no connection will open again; `rounds` of several partitions
 * @returns {((generation?: string) => Promise<void>) & { deciding?: (decide: (primary: Primary) => Promise<Admitted>) =>
 *   Promise<Admitted | null> }} resolves when what was decided in this generation before is confirmed (without one: what the present
 *   primary has); while there is no connection it waits for one, at most `waitMs`. Errors: NOT_CONFIRMED, those of Connection.send.
 *   `deciding`: what is decided in one round with its WAIT, null while there is no connection; absent where the primary is enough
 */
export function createConfirm ({ route, key, marker, durability, waitMs, isClosed = () => false, rounds }) {
  if (waitOf(durability, waitMs) === null) return async () => {}
  const { confirmed, decided } = rounds ?? createRounds({ marker, durability, waitMs })

  /** null: there is no connection now */
  function routeNow () {
    try {
      return route()
    } catch {
      return null
    }
  }

  /** @returns {Promise<string>} the lineage of which all decisions are confirmed */
  const round = async () => {
    const { connection, replicationId } = route()
    const [owner, lineage] = await confirmed(connection, key)
    return String(owner) === replicationId ? String(lineage) : ''
  }

  async function retriedRound () {
    const endMs = performance.now() + waitMs
    for (;;) {
      try {
        return await round()
      } catch (error) {
        const mayPass = ['SERVER_LOST', 'SERVER_UNREACHABLE'].includes(error.code) && performance.now() + RETRY_MS <= endMs
        if (!mayPass || isClosed()) throw error
        await pause(RETRY_MS)
      }
    }
  }

  /** @param {string} [generation] */
  async function confirm (generation) {
    const lineage = await retriedRound()
    if (generation !== undefined && generation.split('.')[0] !== lineage) {
      throw notConfirmed('by the primary that decided it: another one has taken over')
    }
  }

  /** @param {(primary: Primary) => Promise<Admitted>} decide @returns {Promise<Admitted | null>} */
  async function deciding (decide) {
    const primary = routeNow()
    if (primary === null) return null
    const { connection, replicationId } = primary
    const one = forOneCall(connection)
    const { decided: admitted, confirmed: waited } = await decided(connection, () => decide({ connection: one.connection, replicationId }))
    const { generation } = admitted
    const isConfirmed = !one.wasAll
      ? confirm(generation)
      : waited.then(() => {}, (error) => {
        // the next connection may lead to the same primary
        if (error.code !== 'NOT_CONFIRMED') return confirm(generation)
        throw error
      })
    isConfirmed.catch(() => {})
    return { ...admitted, confirmed: isConfirmed }
  }
  return Object.assign(confirm, { deciding })
}

/** @param {string} level */
const shownLevel = (level) => replicasOf(level) > 1 ? `${level} replicas` : level

const notConfirmed = (/** @type {string} */ how) =>
  new FreshetError('NOT_CONFIRMED', `decided, but not confirmed ${how}; repeat it with the same Idempotency-Key to learn the decision`)

/**
 * What confirms the decisions of a system.
 * @param {{ servers: Pick<import('../store/index.js').Servers, 'primaries'>, name: string,
 *   keyOf: (partition: number) => (part: string) => string, partitions: number,
 *   durability: string, deadlineMs: number, waitMs: number }} options `name`: of the connections
 */
export function openConfirms ({ servers, name, keyOf, partitions, durability, deadlineMs, waitMs }) {
  const routes = waitOf(durability, waitMs) ? servers.primaries({ name, deadlineMs: deadlineMs + waitMs }) : null
  let isClosed = false
  const of = { marker: `marker:${process.pid}`, durability, waitMs }
  const rounds = routes ? createRounds(of) : undefined
  const all = Array.from({ length: partitions }, (_, partition) => createConfirm({
    ...of,
    route: () => /** @type {import('../store/index.js').Primaries} */ (routes).route(keyOf(partition)('')),
    key: keyOf(partition),
    isClosed: () => isClosed,
    rounds
  }))
  return {
    /** @param {number} partition */
    of: (partition) => all[partition],

    async close () {
      isClosed = true
      await routes?.close()
    }
  }
}

/**
 * @param {import('../store/index.js').Connection} connection to the primary @param {string | null} durability
 * @throws {FreshetError} DURABILITY_UNSUPPORTED, REPLICAS_TOO_FEW
 */
export async function expectDurability (connection, durability) {
  if (durability !== 'aof') return expectReplicas([connection], durability ?? 'memory', 'durability')
  const [info, [known]] = await connection.sendAll([['INFO', 'persistence'], ['COMMAND', 'INFO', 'WAITAOF']])
  const isOn = /^aof_enabled:1/m.test(String(info))
  if (isOn && known !== null) return
  const missing = isOn ? 'does not know WAITAOF' : 'has no append-only file (appendonly no)'
  throw new FreshetError('DURABILITY_UNSUPPORTED', `the server at ${connection.address} ${missing}, so --durability aof cannot work; ` +
    'turn it on, or use --durability replica or memory')
}
