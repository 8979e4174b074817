/** The children of `npm start`: started again when they are killed, and gone with it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { childrenOf } from '../commands.js'
import { allGone } from '../embedded/checkout.js'
import { NODE } from '../node.js'
import { eventually } from '../servers.js'

const FILE = fileURLToPath(new URL('children-process.js', import.meta.url))
const [program, ...words] = NODE

t.test('a child that is killed starts again on its port; a second Ctrl-C ends all at once', async (t) => {
  // below npm a second Ctrl-C is the first one again
  const env = { ...process.env, NODE_OPTIONS: '', npm_lifecycle_event: '' }
  const parent = spawn(program, [...words, FILE], { stdio: ['ignore', 'ignore', 'pipe'], env })
  t.teardown(() => parent.kill('SIGKILL'))
  const exited = once(parent, 'exit')
  let text = ''
  parent.stderr?.on('data', (chunk) => { text += chunk })
  /** @param {RegExp} pattern */
  const until = (pattern) => eventually(() => pattern.exec(text) ?? Promise.reject(new Error(text)))
  const onlyChild = async () => (await childrenOf(Number(parent.pid)))[0]

  const [, url] = await until(/^payments first (http:\S+)$/m)
  const first = await onlyChild()
  t.notMatch(await readFile(`/proc/${first}/cmdline`, 'utf8').catch(() => ''), /hush/, 'other users see no secret')
  process.kill(first, 'SIGKILL')
  await until(/^payments exited unexpectedly \(SIGKILL\); starting it again in 0\.5 s$/m)
  await until(/^payments is up again$/m)
  t.equal((await fetch(`${url}/ledger`)).status, 200)

  const second = await onlyChild()
  process.kill(second, 'SIGSTOP')
  parent.kill('SIGINT')
  await until(/^stopping /m)
  parent.kill('SIGINT')
  t.same(await exited, [1, null])
  t.notMatch(text, /still running/, 'it did not wait for the child')
  await allGone(second)
})
