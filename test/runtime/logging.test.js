/** Logs of processes. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { NODE } from '../node.js'

const run = promisify(execFile)

t.test('texts of a log line have at most 4 KiB, wherever they are in it', async (t) => {
  const logging = import.meta.resolve('../../src/runtime/logging.js')
  const code = `import { createLog } from '${logging}'
    const huge = 'x'.repeat(5e6)
    const log = createLog({ level: 'info', role: 'test', terminal: false })
    log.info({ reason: 'short' }, 'a line')
    log.child({ feed: huge }).error({ reason: huge, nested: { list: [huge] }, err: new Error(huge) }, huge)`
  const [program, ...words] = NODE
  const { stderr } = await run(program, [...words, '--input-type=module', '--eval', code], { env: { ...process.env, NODE_OPTIONS: '' } })
  const [short, long] = stderr.trim().split('\n').map((line) => JSON.parse(line))
  t.match(short, { role: 'test', reason: 'short', msg: 'a line' })
  for (const text of [long.feed, long.reason, long.nested.list[0], long.err.message, long.err.stack, long.msg]) {
    t.match(text, /x{1000,}\.\.\. \(5000\d+ characters\)$/)
    t.ok(text.length <= 4096)
  }
})
