/**
 * How the processes that drive orders are (../process-figures.js).
 *
 * @typedef {{ id: string, cpuPercent: number, partitions: number, driven: number, breaker: string, paymentUrl: string | null }} Worker
 *   `cpuPercent` of one core; `driven`: orders at the moment; `paymentUrl`: of a provider on this machine, whose faults a page may switch
 */
import { publishFigures, readFigures } from '../process-figures.js'

const PART = 'replica'

/**
 * @param {Omit<Parameters<typeof publishFigures>[0], 'part' | 'figures'> & { figures: () => Omit<Worker, 'id' | 'cpuPercent'> }} parts
 */
export function publishWorker ({ figures, ...parts }) {
  let [before, beforeMs] = [process.cpuUsage(), performance.now()]

  /** Since the last time. */
  function cpuPercent () {
    const [{ user, system }, nowMs] = [process.cpuUsage(before), performance.now()]
    const percent = (user + system) / 10 / (nowMs - beforeMs)
    ;[before, beforeMs] = [process.cpuUsage(), nowMs]
    return percent
  }

  return publishFigures({ ...parts, part: PART, figures: () => ({ id: parts.id, cpuPercent: cpuPercent(), ...figures() }) })
}

/**
 * @param {import('../../store/index.js').Connection} connection @param {(part: string) => string} key of partition 0
 * @returns {Promise<Worker[]>}
 */
export const readWorkers = (connection, key) => readFigures(connection, key, PART)
