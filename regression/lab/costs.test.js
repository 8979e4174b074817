/** By night all rows of the table of costs; .ci/run counts those of the day. A process of its own, because counting slows its time down. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { nightTest } from '../../test/scope.js'

const COSTS = fileURLToPath(new URL('../../lab/counting/costs-process.js', import.meta.url))

nightTest('no cost has moved', { timeout: 1_800_000 }, async (t) => {
  const { status, text } = await new Promise((resolve) => {
    execFile(process.execPath, [COSTS, '--all'], (error, stdout, stderr) => resolve({ status: error?.code ?? 0, text: stdout + stderr }))
  })
  t.equal(status, 0, text)
})
