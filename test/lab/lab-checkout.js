/**
 * A copy of the checkout with experiments of a test's own: small ones, so that real servers and real loads take seconds.
 * The lab keeps runs and results in its checkout, and takes one run at a time in it.
 *
 * @typedef {import('../commands.js').RunningCommand} Running
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { copyCheckout, runCommand } from '../commands.js'
import { endOfMain } from '../bin/in-process.js'
import { isRunning } from '../embedded/checkout.js'

/**
 * What plan.js exports: two arms, and the A/A pair, so three measurements a round.
 * @param {Record<string, any>} [plan] what is to be otherwise
 */
export const tinyPlan = (plan = {}) => ({
  title: 'Reference or blob?',
  question: 'Does an item cost less as a part of a blob?',
  baseline: 'ids',
  ceiling: 'blob',
  arms: { ids: { settings: { layout: 'ids' } }, blob: { load: 'blob' } },
  levels: { slow: { settings: { rate: 4000 } } },
  fixed: { ids: 400, valueBytes: 64, batchItems: 100 },
  seconds: 1,
  warmUpSeconds: 0.1,
  rounds: 5,
  measures: ['primaryCpuMicrosPerItem', 'itemsPerSecond', 'behindMsP99'],
  ...plan
})

/** Of a tiny plan, as short as can be. */
export const ONCE = ['--rounds', '1', '--seconds', '0.5']

/**
 * @param {import('tap').Test} t
 * @param {Record<string, object>} [plans] by name of the folder, what plan.js exports
 * @returns {Promise<string>} root
 */
export async function labCheckout (t, plans = { '901-tiny': tinyPlan() }) {
  const root = await copyCheckout(t)
  await mkdir(join(root, 'experiments'))
  for (const [name, plan] of Object.entries(plans)) await writePlan(root, name, plan)
  return root
}

/** @param {string} root @param {string} name @param {object} plan */
export async function writePlan (root, name, plan) {
  await mkdir(join(root, 'experiments', name), { recursive: true })
  await writeFile(join(root, 'experiments', name, 'plan.js'), `export default ${JSON.stringify(plan, null, 2)}\n`)
}

/**
 * `npm run experiment -- ...args`
 * @param {import('tap').Test} t @param {string} root @param {string[]} args @param {Parameters<typeof runCommand>[2]} [options]
 */
export const startLab = (t, root, args, options) => runCommand(t, ['experiment', ...args], { cwd: root, ...options })

/** To its end. @param {Parameters<typeof startLab>} given */
export const runLab = (...given) => startLab(...given).ended()

/** What measures nothing, in this process. @param {string} root @param {string[]} args */
export const lookWithLab = (root, args) => endOfMain(['experiment', ...args], { cwd: root })

/** @type {ReturnType<typeof startOnce> | null} */
let once = null

/** A run of the tiny plan that the files of this process share: it and its checkout are only looked at. */
export const ranOnce = () => (once ??= startOnce())

async function startOnce () {
  /** @type {(() => unknown)[]} */
  const ends = []
  const t = /** @type {any} */ ({ teardown: (/** @type {() => unknown} */ end) => ends.push(end) })
  const root = await labCheckout(t)
  process.once('exit', () => rmSync(root, { recursive: true, force: true }))
  const { code, stdout, stderr } = await runLab(t, root, ['901', ...ONCE])
  const [file] = await pathsIn(join(root, '.freshet', 'lab', 'results'), /\.json$/)
  return { root, code, stdout, stderr, file, result: file && await readJson(file) }
}

/** @param {string} folder @returns {Promise<string[]>} names of all files in it and below, with what is in them */
export async function filesIn (folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath ?? entry.path, entry.name)).sort()
  return Promise.all(files.map(async (file) =>
    `${file.slice(folder.length + 1)} ${createHash('sha1').update(await readFile(file)).digest('hex')}`))
}

/** @param {string} folder @param {RegExp} [pattern] @returns {Promise<string[]>} paths, in order */
export async function pathsIn (folder, pattern = /./) {
  const names = await readdir(folder, { recursive: true }).catch(() => [])
  return names.filter((name) => pattern.test(name)).sort().map((name) => join(folder, name))
}

/** @param {string} file @returns {Promise<any>} */
export const readJson = async (file) => JSON.parse(await readFile(file, 'utf8'))

/**
 * Processes that a process has started, and those that they have.
 * @param {number} pid
 * @returns {Promise<{ pid: number, args: string }[]>}
 */
export async function descendantsOf (pid) {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,args='])
  const all = stdout.trim().split('\n').map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [])
    .map(([, own, parent, args]) => ({ pid: Number(own), parent: Number(parent), args }))
  const below = (/** @type {number} */ of) =>
    all.filter(({ parent }) => parent === of).flatMap(({ pid, args }) => [{ pid, args }, ...below(pid)])
  return below(pid)
}

/** @param {{ pid: number, args: string }[]} processes @returns {Promise<string[]>} which are still there */
export async function stillThere (processes) {
  const there = await Promise.all(processes.map(({ pid }) => isRunning(pid)))
  return processes.filter((_, i) => there[i]).map(({ args }) => args)
}
