/**
 * The process that generates the load of one measurement: the writer command, or one of the lab's own loads. Each measurement
 * starts a fresh process, so that no arm runs on code that another arm warmed up.
 *
 *     child -> { event: 'measuring' }                     the warm-up is over; its summary begins here
 *     child -> { event: 'measured' }                      bids only: its summary ends here, its load goes on until { event: 'looked' }
 *     child -> { event: 'ended', acknowledged: [n, ...] } since the start, for each writer
 *     child -> one JSON line on standard output           the summary; then it exits
 *
 * @typedef {{ load: string, settings: Record<string, any>, redisUrl: string, replicaUrls: string[], keyPrefix: string }} Order
 * @typedef {{ acknowledged: number[], summary: any }} Ended
 * @typedef {{ measuring: Promise<void>, measured: Promise<void>, ended: Promise<Ended>, pid: number | undefined, looked(): void,
 *   stop(): Promise<void> }} Child `measured`: at the end of its summary, or when it has ended
 */
import { fileURLToPath } from 'node:url'
import { FreshetError } from '../errors.js'
import { gatewaySettings } from '../loads/gateway.js'
import { spawnNode } from '../serving/process.js'

const SYSTEM_PROCESS = fileURLToPath(new URL('../systems/load-process.js', import.meta.url))
const LOAD_PROCESS = fileURLToPath(new URL('../loads/load-process.js', import.meta.url))
/** A load that ran for a smaller share of its window was stopped; in short windows a busy machine takes more. */
const leastOf = (/** @type {number} */ seconds) => seconds * (seconds < 5 ? 0.5 : 0.95)

/**
 * @param {Order} order
 * @param {{ writerCommand: (settings: Record<string, any>) => string[], gatewayCommand: (settings: Record<string, any>) => string[],
 *   env: Record<string, string | undefined>, deadlineMs: number }} how `writerCommand`, `gatewayCommand`: arguments of node for
 *   `npm start writer` and `npm start gateway` with these settings; `deadlineMs`: the process is killed after it
 * @returns {Child}
 */
export function startLoad (order, { writerCommand, gatewayCommand, env, deadlineMs }) {
  const { load, settings, redisUrl, replicaUrls, keyPrefix } = order
  const isWriter = load === 'writer' && !settings.contention
  const file = settings.contention ? SYSTEM_PROCESS : LOAD_PROCESS
  const own = withoutSettings(env)
  const args = isWriter ? writerCommand({ ...settings, source: 'synthetic', keyPrefix }) : [file]
  const { child, lines, exited, send, stop } = spawnNode(args, {
    stdout: 'pipe',
    // URLs may contain a password, which arguments would expose
    env: isWriter ? { ...own, FRESHET_REDIS_URL: redisUrl, FRESHET_REPLICA_URL: replicaUrls.join(',') } : own
  })
  let output = ''
  let isMeasuring = false
  /** @type {number[] | null} */
  let acknowledged = null
  /** @type {{ code: string, message: string } | null} */
  let failure = null
  /** @type {() => void} */
  let resolveMeasuring = () => {}
  const began = /** @type {Promise<void>} */ (new Promise((resolve) => { resolveMeasuring = resolve }))
  /** @type {() => void} */
  let resolveMeasured = () => {}
  const over = /** @type {Promise<void>} */ (new Promise((resolve) => { resolveMeasured = resolve }))

  child.stdout?.on('data', (chunk) => { output += chunk })
  child.on('message', (/** @type {any} */ message) => {
    if (message.event === 'measuring') {
      isMeasuring = true
      resolveMeasuring()
    } else if (message.event === 'measured') resolveMeasured()
    else if (message.event === 'ended') acknowledged = message.acknowledged
    else if (message.event === 'failed') failure = message
  })
  // several writers are its children, in its process group
  child.once('exit', (status) => { if (status !== 0) killGroup(child.pid) })
  if (!isWriter) {
    send({
      event: 'start',
      load,
      settings: { ...settings, keyPrefix },
      redisUrl,
      replicaUrls,
      gateway: gatewayCommand(gatewaySettings({ ...settings, keyPrefix }))
    })
  }
  const timer = setTimeout(() => {
    failure ??= { code: 'LOAD_FAILED', message: `took longer than ${deadlineMs / 1000} s and was killed` }
    killGroup(child.pid)
  }, deadlineMs)

  const ended = exited.then((how) => {
    clearTimeout(timer)
    const summary = summaryIn(output)
    const why = failure?.message ??
      whyNot({ how, status: child.exitCode, summary, isWhole: acknowledged !== null && isMeasuring, duration: settings.duration, lines })
    if (why !== null) throw new FreshetError('LOAD_FAILED', `the load ${load} ${why}`, failure ? { reason: failure.code } : {})
    return { acknowledged: /** @type {number[]} */ (acknowledged), summary }
  })
  const [measuring, measured] = [began, over].map((one) => Promise.race([one, ended.then(() => {})]))
  // a caller that stops the load may await none of them
  for (const promise of [ended, measuring, measured]) promise.catch(() => {})

  return {
    pid: child.pid,
    measuring,
    measured,
    ended,
    /** The figures of the servers were taken. */
    looked () { send({ event: 'looked' }) },
    /** Stops the process, with SIGKILL after 3 s. */
    async stop () {
      await stop(() => killGroup(child.pid))
      clearTimeout(timer)
    }
  }
}

/**
 * Why the summary of a load is not usable: it failed, or ended early. Null when it is usable.
 * @param {{ how: string, status: number | null, summary: any, isWhole: boolean, duration: number, lines: string[] }} end
 */
function whyNot ({ how, status, summary, isWhole, duration, lines }) {
  const output = lines.map(messageOf).join(' | ')
  if (!summary || !isWhole) return `${how}: ${output || 'no output'}`
  if (status !== 0) return `${how}, ${summary.failed} of ${summary.offered} items were not acknowledged${output && `: ${output}`}`
  if (summary.seconds < leastOf(duration)) return `ended early, after ${summary.seconds} s of ${duration} s`
  return null
}

/** @param {string} line of a JSON log, or text */
function messageOf (line) {
  try {
    const { msg, code } = JSON.parse(line)
    return msg ? `${code ? `${code}: ` : ''}${msg}` : line
  } catch {
    return line
  }
}

/** @param {number | undefined} pid of its leader */
function killGroup (pid) {
  try {
    if (pid) process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if (error.code !== 'ESRCH') throw error
  }
}

/**
 * The environment of a child process, without Freshet's settings, which come from the plan.
 * @param {Record<string, string | undefined>} env
 */
export const withoutSettings = (env) => Object.fromEntries(Object.entries(env).filter(([name]) =>
  !/^(FRESHET_|npm_config_)/.test(name) && name !== 'SORTED_SET_CONTAINS_ACTUAL_VALUE'))

/** @param {string} output @returns {any} null when there is none */
function summaryIn (output) {
  const line = output.trim().split('\n').findLast((one) => one.startsWith('{'))
  try {
    const summary = JSON.parse(line ?? '')
    return summary.event === 'summary' ? summary : null
  } catch {
    return null
  }
}
