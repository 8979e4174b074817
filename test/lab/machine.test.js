import { execFileSync } from 'node:child_process'
import { mkdir, realpath, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import t from 'tap'
import { commitOf, machineFacts, machineUse, useBetween } from '../../lab/run/machine.js'
import { makeCheckout } from '../embedded/checkout.js'

const UNKNOWN = { commit: null, dirty: null }
const hasGit = (() => {
  try {
    execFileSync('git', ['--version'])
    return true
  } catch {
    return false
  }
})()

t.test('the machine says what it is', async (t) => {
  const { node, machine } = machineFacts()
  t.match(node, /^v\d+\.\d+\.\d+$/)
  t.match(machine, { cpu: /\S/, platform: /^\w+ \w+$/ })
  t.ok(machine.cores >= 1 && Number.isInteger(machine.cores))
  t.ok(machine.memoryBytes > 2 ** 20)
})

/** @param {import('tap').Test} t @param {string[]} lines */
async function statOf (t, ...lines) {
  const file = join(await makeCheckout(t), 'stat')
  await writeFile(file, lines.join('\n') + '\n')
  return machineUse(file)
}

t.test('cores that others keep busy, and stolen time, come from what the kernel counts', async (t) => {
  //                           user nice system idle iowait irq softirq steal guest guest_nice
  const before = await statOf(t, 'cpu  1000 10 500 8000 50 0 20 100 300 0', 'cpu0 1 2 3', 'cpu1 1 2 3', 'intr 5 cpu9')
  const after = await statOf(t, 'cpu  1100 15 540 8020 60 5 20 120 350 0', 'cpu0 1 2 3', 'cpu1 1 2 3', 'intr 5 cpu9')
  const second = { ...after, atMs: before.atMs + 1000, loadAverage: 1.25 }
  // 200 ticks of two processors: 145 busy with processes, 5 with interrupts, 20 stolen
  const use = useBetween({ ...before, loadAverage: 9 }, second, { ownCpuSeconds: 1.2 })
  t.equal(use.loadAverage, 1.25)
  t.equal(use.stealPercent, 10)
  t.ok(Math.abs(/** @type {number} */ (use.otherCores) - 0.25) < 1e-9, String(use.otherCores))
  t.equal(useBetween(before, second, { ownCpuSeconds: 1.51 }).otherCores, 0, 'ticks are coarse: not below zero')
})

t.test('what the kernel does not report is null, never 0', async (t) => {
  const nothing = { stealPercent: null, otherCores: null }
  const absent = machineUse(join(await makeCheckout(t), 'absent'))
  t.equal(absent.ticks, null)
  t.match(useBetween(absent, absent, { ownCpuSeconds: 1 }), nothing)
  const zeros = await statOf(t, 'cpu 0 0 0 0 0 0 0 0 0 0')
  t.match(useBetween(zeros, zeros, { ownCpuSeconds: 1 }), nothing)
  const still = await statOf(t, 'cpu 1 1 1 1 1 1 1 1 1 1', 'cpu0 1')
  t.match(useBetween(still, still, { ownCpuSeconds: 1 }), nothing, 'no time has passed')
  t.match(useBetween(await statOf(t, 'something else'), still, { ownCpuSeconds: 1 }), nothing)
})

t.test('on this machine', async (t) => {
  const before = machineUse()
  for (const until = performance.now() + 100; performance.now() < until;);
  const { loadAverage, stealPercent, otherCores } = useBetween(before, machineUse(), { ownCpuSeconds: 0 })
  t.ok(loadAverage >= 0)
  if (before.ticks === null) return t.same([stealPercent, otherCores], [null, null])
  t.ok(stealPercent !== null && stealPercent >= 0 && stealPercent <= 100, String(stealPercent))
  t.ok(otherCores !== null && otherCores >= 0 && otherCores <= before.ticks.processors + 0.5, String(otherCores))
})

/** A repository with one commit. @param {import('tap').Test} t */
async function startRepository (t) {
  const root = await realpath(await makeCheckout(t))
  const git = (/** @type {string[]} */ ...args) =>
    execFileSync('git', args, { cwd: root, stdio: ['ignore', 'pipe', 'ignore'] }).toString().trim()
  const write = async (/** @type {string} */ file, /** @type {string} */ text) => {
    await mkdir(dirname(join(root, file)), { recursive: true })
    await writeFile(join(root, file), text)
  }
  git('init', '-q')
  await write('.gitignore', 'node_modules/\n')
  await write('src/a.js', 'a')
  await write('experiments/001-x/plan.js', 'plan')
  await write('experiments/001-x/results/1.json', '{}')
  await write('charts/001-x.md', 'chart')
  git('add', '.')
  git('-c', 'user.name=test', '-c', 'user.email=test@localhost', 'commit', '-q', '-m', 'first')
  return { root, git, write, commit: git('rev-parse', 'HEAD') }
}

t.test('the commit, and whether anything but results differs from it', { skip: hasGit ? false : 'no git here' }, async (t) => {
  const { root, git, write, commit } = await startRepository(t)
  t.same(await commitOf(root), { commit, dirty: false })
  await write('experiments/001-x/results/1.json', '{ "changed": true }')
  await write('experiments/001-x/results/2.json', '{}')
  await write('experiments/002-y/results/1.json', '{}')
  await write('charts/001-x.md', 'drawn again')
  await write('charts/002-y.svg', 'drawn')
  await write('node_modules/x/index.js', 'ignored')
  t.same(await commitOf(root), { commit, dirty: false }, 'what runs write, and what is ignored')
  await write('experiments/001-x/plan.js', 'another plan')
  t.same(await commitOf(root), { commit, dirty: true }, 'a plan')
  git('checkout', 'experiments/001-x/plan.js')
  await write('src/new.js', 'not known to git')
  t.same(await commitOf(root), { commit, dirty: true }, 'a file that git does not know')
  await rm(join(root, 'src/new.js'))
  await rm(join(root, 'src/a.js'))
  t.same(await commitOf(root), { commit, dirty: true }, 'a file that is gone')
})

t.test('the commit of somebody else is not ours', { skip: hasGit ? false : 'no git here' }, async (t) => {
  const { root, write } = await startRepository(t)
  await write('node_modules/freshet/package.json', '{}')
  t.same(await commitOf(join(root, 'node_modules/freshet')), UNKNOWN)
  const { GIT_DIR } = process.env
  process.env.GIT_DIR = join(root, '.git')
  t.teardown(() => {
    if (GIT_DIR === undefined) delete process.env.GIT_DIR
    else process.env.GIT_DIR = GIT_DIR
  })
  t.same(await commitOf(await makeCheckout(t)), UNKNOWN, 'whatever the environment says')
})

t.test('without git, or where there is nothing, the commit is not known', async (t) => {
  t.same(await commitOf(await makeCheckout(t)), UNKNOWN)
  t.same(await commitOf(join(await makeCheckout(t), 'absent')), UNKNOWN)
  const { PATH } = process.env
  process.env.PATH = await makeCheckout(t)
  t.teardown(() => { process.env.PATH = PATH })
  t.same(await commitOf(process.cwd()), UNKNOWN)
})
