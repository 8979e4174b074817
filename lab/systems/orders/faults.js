/**
 * What goes wrong during a measurement of orders, by name.
 *
 * @typedef {{ provider: object, down?: { everyMs: number, forMs: number }, doubled: number, cancelled?: number,
 *   kills?: readonly Killed[] }} Fault
 *   `provider`: as PUT /faults of it; `down`: it does not answer, again and again; `doubled`: share of the orders that are sent twice at
 *   once; `cancelled`: of those that are cancelled at once; `kills`: of these, one is killed every KILL_EVERY_MS, in
 *   turn; while one of a kind is not up again, no other of it is killed
 * @typedef {'consumers' | 'gateway' | 'reader' | 'payments' | 'database' | 'primary'} Killed `primary`: by who started it, who promotes a
 *   replica
 */
const PROVIDER = Object.freeze({ latencyMs: 5, declineRate: 0.05, silentRate: 0.01 })
const DOUBLED = 0.02
/** callbacks come late, and again */
const TWICE = Object.freeze({ ...PROVIDER, callbacks: 3, callbackAfterMs: 300 })
const MORE_DOUBLED = 0.05

/** @type {Readonly<Record<string, Fault>>} */
export const FAULTS = Object.freeze({
  none: { provider: { latencyMs: PROVIDER.latencyMs }, doubled: 0 },
  few: { provider: PROVIDER, doubled: DOUBLED },
  duplicates: { provider: TWICE, doubled: MORE_DOUBLED },
  silent: { provider: { ...PROVIDER, silentRate: 0.05, errorRate: 0.02 }, doubled: DOUBLED },
  down: { provider: PROVIDER, doubled: DOUBLED, down: { everyMs: 3000, forMs: 1500 } },
  'consumers-killed': { provider: PROVIDER, doubled: DOUBLED, kills: ['consumers'] },
  'any-killed': {
    provider: TWICE,
    doubled: MORE_DOUBLED,
    cancelled: 0.03,
    kills: ['consumers', 'gateway', 'reader', 'payments', 'consumers', 'database']
  },
  'primary-killed': {
    provider: TWICE,
    doubled: MORE_DOUBLED,
    cancelled: 0.03,
    kills: ['primary', 'consumers']
  }
})
const KILL_EVERY_MS = 2000

/**
 * @param {{ fault: Fault, fail: (faults: object) => Promise<void>, kill: (what: Killed) => Promise<unknown>, killEveryMs?: number,
 *   signal: AbortSignal }} parts `signal`: nothing is killed any more
 * @returns what ends it, when everything is up again: how many were killed. It throws what kept one from starting again
 */
export function startFaults ({ fault: { provider, down, kills = [] }, fail, kill, killEveryMs = KILL_EVERY_MS, signal }) {
  let [turns, killed] = [0, 0]
  /** what is not up yet, and is spared @type {Map<Killed, Promise<unknown>>} */
  const restarts = new Map()
  /** @type {unknown} */
  let failure
  /** @type {NodeJS.Timeout[]} */
  const timers = []
  if (kills.length > 0) {
    timers.push(setInterval(() => {
      const what = kills[turns++ % kills.length]
      if (restarts.has(what)) return
      killed++
      restarts.set(what, kill(what).catch((error) => { failure ??= error }).finally(() => restarts.delete(what)))
    }, killEveryMs))
  }
  if (down) {
    const set = (/** @type {boolean} */ isDown) => fail({ ...provider, isDown }).catch(() => {})
    timers.push(setInterval(async () => {
      await set(true)
      setTimeout(() => set(false), down.forMs)
    }, down.everyMs))
  }
  const stop = () => { for (const timer of timers) clearInterval(timer) }
  signal.addEventListener('abort', stop)
  return async () => {
    stop()
    await Promise.all(restarts.values())
    if (failure) throw failure
    if (down) await fail(provider)
    return killed
  }
}
