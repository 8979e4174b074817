/** By night all rows of the table of costs; .ci/run counts those of the day. A process of its own, because counting slows its time down. */
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CACHE_DIR, copyCheckout } from '../../test/commands.js'
import { ROOT } from '../../src/embedded/index.js'
import { nightTest } from '../../test/scope.js'

const COSTS = join('lab', 'counting', 'costs-process.js')

/** @param {string} root of a checkout @param {string[]} words @returns {Promise<{ status: unknown, text: string }>} */
const costsOf = (root, words) => new Promise((resolve) => {
  const env = { ...process.env, FRESHET_CACHE_DIR: CACHE_DIR }
  execFile(process.execPath, [join(root, COSTS), ...words], { cwd: root, env }, (error, stdout, stderr) =>
    resolve({ status: error?.code ?? 0, text: stdout + stderr }))
})

/** Put into a copy of the code: where, what is there, what it becomes, the row that sees it, and how. */
const FAULTS = /** @type {const} */ ([
  ['one more command a batch', 'src/layouts/ids-append.js', "connection.send('PTTL', deletions)\n",
    "connection.send('PTTL', deletions), connection.send('PTTL', deletions)\n", 'ids, in order',
    /^moved: ids, in order: .*commands .* \(\+/m],
  ['one more field a decision', 'src/store/lua.js', 'amount = amount, previous = before }',
    'amount = amount, previous = before, earlier = before }', 'max, calls of 16',
    /^moved: max, calls of 16: .*replicated bytes .* \(\+/m]
])

nightTest('no cost has moved', { timeout: 1_800_000 }, async (t) => {
  const { status, text } = await costsOf(ROOT, ['--all'])
  t.equal(status, 0, text)
})

for (const [fault, file, before, after, row, sees] of FAULTS) {
  nightTest(`${fault} is seen`, { timeout: 600_000 }, async (t) => {
    const root = await copyCheckout(t)
    const text = await readFile(join(root, file), 'utf8')
    t.equal(text.split(before).length, 2, 'the place of the fault')
    await writeFile(join(root, file), text.replace(before, after))
    const { status, text: printed } = await costsOf(root, [row])
    t.equal(status, 1, printed)
    t.match(printed, sees)
  })
}
