/**
 * The machine, the state of the checkout, and what else the machine did during a measurement: other programs that use the
 * processors, inside this machine or outside it (steal), make figures that cannot be reproduced.
 */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os'
import { promisify } from 'node:util'

const STAT = '/proc/stat'
const GIT_DEADLINE_MS = 20_000
/** Written by runs; not part of the measured code. */
const RESULTS = [':(exclude,glob)experiments/*/results/**', ':(exclude,glob)experiments/*/counts/**', ':(exclude)charts']

/**
 * @typedef {{ cpu: string, cores: number, memoryBytes: number, platform: string }} Machine
 * @typedef {{ busy: number, steal: number, total: number, processors: number }} Ticks of all processors since boot; `busy` with
 *   processes
 * @typedef {{ atMs: number, loadAverage: number, ticks: Ticks | null }} MachineUse
 */

/** @returns {{ node: string, machine: Machine }} `platform` such as `linux x64` */
export const machineFacts = () => ({
  node: process.version,
  machine: {
    cpu: cpus()[0]?.model.trim() || 'unknown',
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    platform: `${process.platform} ${process.arch}`
  }
})

/**
 * @param {string} [statFile] for tests
 * @returns {MachineUse} `ticks` null where the kernel does not report them (anything but Linux)
 */
export const machineUse = (statFile = STAT) => ({ atMs: performance.now(), loadAverage: loadavg()[0], ticks: ticksIn(statFile) })

/**
 * @param {MachineUse} before @param {MachineUse} after
 * @param {{ ownCpuSeconds: number }} own CPU time of all processes of the measurement on this machine
 * @returns {{ loadAverage: number, stealPercent: number | null, otherCores: number | null }} `loadAverage` of the last
 *   minute; `stealPercent` of the machine's time; `otherCores` used by other processes
 */
export function useBetween (before, after, { ownCpuSeconds }) {
  const { loadAverage } = after
  if (!before.ticks || !after.ticks) return { loadAverage, stealPercent: null, otherCores: null }
  const total = after.ticks.total - before.ticks.total
  if (total <= 0) return { loadAverage, stealPercent: null, otherCores: null }
  const busyCores = (after.ticks.busy - before.ticks.busy) / total * after.ticks.processors
  const ownCores = ownCpuSeconds / ((after.atMs - before.atMs) / 1000)
  return {
    loadAverage,
    stealPercent: (after.ticks.steal - before.ticks.steal) / total * 100,
    // the kernel counts in ticks, so the difference can be slightly negative
    otherCores: Math.max(0, busyCores - ownCores)
  }
}

/** @param {string} file @returns {Ticks | null} */
function ticksIn (file) {
  try {
    const lines = readFileSync(file, 'utf8').split('\n')
    // guest time is part of user time already
    const [user, nice, system, idle, iowait, irq, softirq, steal] = lines[0].split(/\s+/).slice(1, 9).map(Number)
    // interrupts, such as those of our own loopback traffic, belong to no process
    const busy = user + nice + system
    const total = busy + idle + iowait + irq + softirq + steal
    return total > 0 ? { busy, steal, total, processors: lines.filter((line) => /^cpu\d/.test(line)).length } : null
  } catch {
    return null
  }
}

/**
 * The commit, if git knows it: a package installed inside another repository is not part of its commits.
 * @param {string} root the folder of this package
 * @returns {Promise<{ commit: string | null, dirty: boolean | null }>} `dirty`: files other than results differ from the commit,
 *   including untracked ones
 */
export async function commitOf (root) {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_')))
  const git = async (/** @type {string[]} */ ...args) =>
    (await promisify(execFile)('git', args, { cwd: root, env, timeout: GIT_DEADLINE_MS, maxBuffer: 2 ** 26 })).stdout
  try {
    const top = (await git('rev-parse', '--show-toplevel')).trim()
    if (await realpath(top) !== await realpath(root)) return { commit: null, dirty: null }
    const commit = (await git('rev-parse', 'HEAD')).trim()
    // npx makes programs of a package executable
    const changes = await git('-c', 'core.fileMode=false', 'status', '--porcelain', '--', '.', ...RESULTS)
    return { commit, dirty: changes !== '' }
  } catch {
    return { commit: null, dirty: null }
  }
}
