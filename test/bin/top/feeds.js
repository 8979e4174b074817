/** A feed with a running writer, a feed with a few items, and a reader of both. */
import { fileURLToPath } from 'node:url'
import { endOf, runCommand } from '../../commands.js'
import { eventually, startDeployment, testEngines } from '../../servers.js'
import { startReader } from '../../services.js'

const FRESHET = fileURLToPath(new URL('../../../bin/freshet.js', import.meta.url))
const HOSTILE = '\u001b]0;owned\u0007\u001b[2J\u009b31m\u202e'

/** @param {string} url @param {string[]} flags @returns {string[]} for node */
export const top = (url, ...flags) => [FRESHET, 'top', '--url', url, ...flags]

/**
 * Resolves when the reader knows the rate.
 * @param {import('tap').Test} t
 * @param {{ flags?: string[], headers?: Record<string, string> }} [options] `flags` of the reader; `headers`: with a token it accepts
 */
export async function startFeeds (t, { flags = [], headers = {} } = {}) {
  const [engine] = await testEngines()
  const { primary, replicas } = await startDeployment(t, { engine, replicas: 1 })
  const to = ['--redis-url', primary.url, '--log-level', 'warn']
  runCommand(t, ['writer', '--rate', '300', '--ids', '50', ...to])
  const input = [{ id: 'bus-7', value: 'stop 12' }, { id: 'bus\u202e-8', value: HOSTILE }, { id: '東京-👨‍👩‍👧', value: 'wide' }]
    .map((one) => JSON.stringify({ ...one, ts: Date.now() })).join('\n')
  const written = await endOf(t, ['writer', '--feed', 'positions', '--layout', 'segments', '--window-ms', '0', '--source', 'stdin',
    '--value-field', 'value', ...to], { input })
  t.equal(written.code, 0, written.stderr)
  const reader = await startReader(t, { redisUrl: primary.url, flags })
  await eventually(async () => {
    const { json } = await reader.get('/v1/feeds/latest/figures', headers)
    if (!(json?.itemsPerSecond > 0)) throw new Error(`the reader does not know the rate yet: ${JSON.stringify(json)}`)
  })
  return { primary, replicas, reader, url: reader.url }
}
