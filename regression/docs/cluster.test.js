/** docs/cluster.md: the cluster of this machine and what is asked there print what the page shows. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { copyCheckout, runCommand } from '../../test/commands.js'
import { commandsIn, exampleOf, shellOf } from '../../test/docs/examples.js'
import { nightTest } from '../../test/scope.js'

const run = promisify(execFile)

/** Without what is another each time. @param {string} text */
const withoutAddresses = (text) => text.trim().replaceAll(/127\.0\.0\.1:\d+/g, 'ADDRESS').replaceAll(/"createdAt":"[^"]+"/g, '"createdAt":…')
  .replace(/on \w+ \d+\.\d+\.\d+/, 'on an engine')

nightTest('the page', async (t) => {
  const root = await copyCheckout(t)
  const [start, started, ask, answered] = await exampleOf('docs/cluster.md', 'cluster')
  const flags = start.trim().split(' -- ')[1].split(' ')
  const command = runCommand(t, ['start', ...flags, '--port', '0', '--gateway-port', '0'], { cwd: root })
  await command.until(/^writer .*\n/m)
  const printed = withoutAddresses(command.stderr).split('\n')
  t.same(printed.toSorted(), withoutAddresses(started).split('\n').toSorted())
  const [, url] = /^gateway +(\S+)/m.exec(command.stderr) ?? []
  const feed = runCommand(t, ['feed', ...commandsIn(ask).feed], { cwd: root })
  const { stdout: shown } = await feed.ended()
  const { stdout: put } = await run('bash', ['-c', shellOf(ask, { gateway: { url: String(url) } }).split('\n')[1]])
  t.equal(withoutAddresses(shown + put), withoutAddresses(answered))
  t.equal((await command.stop()).code, 0)
})
