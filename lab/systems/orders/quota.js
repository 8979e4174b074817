/**
 * Limits the processor time of processes by control groups of Linux, one for each, as Kubernetes does. Where this process may not make
 * groups, nothing is limited, and `isLimited` says so.
 *
 * Source: https://docs.kernel.org/admin-guide/cgroup-v2.html (cpu.max), cgroup-v1 (cpu.cfs_quota_us).
 */
import { access, mkdir, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** of each process */
export const LIMIT_CORES = 1
const ROOT = '/sys/fs/cgroup'
const PERIOD_US = 100_000
const EMPTY_WITHIN_MS = 2000

export async function createQuota () {
  const isV2 = await access(join(ROOT, 'cgroup.controllers')).then(() => true, () => false)
  const quotaUs = String(LIMIT_CORES * PERIOD_US)
  const limits = isV2 ? [['cpu.max', `${quotaUs} ${PERIOD_US}`]] : [['cpu.cfs_period_us', String(PERIOD_US)], ['cpu.cfs_quota_us', quotaUs]]
  /** @type {string[]} */
  const groups = []
  let isLimited = true

  return {
    get isLimited () { return isLimited },

    /** @param {number} pid */
    async limit (pid) {
      const group = join(ROOT, isV2 ? '' : 'cpu', `freshet-lab-${pid}`)
      try {
        if (isV2) await writeFile(join(ROOT, 'cgroup.subtree_control'), '+cpu')
        await mkdir(group)
        groups.push(group)
        for (const [name, value] of [...limits, ['cgroup.procs', String(pid)]]) await writeFile(join(group, name), value)
      } catch {
        isLimited = false
      }
    },

    /** After the processes have ended. */
    async close () {
      for (const group of groups) {
        // an ended process may be in its group for a moment
        const untilMs = performance.now() + EMPTY_WITHIN_MS
        while (!await rmdir(group).then(() => true, () => false) && performance.now() < untilMs) await sleep(10)
      }
    }
  }
}
