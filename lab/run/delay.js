/**
 * Adds a delay between a client and a server on the same machine: without it, an arm with many round trips looks as good as an
 * arm with one (L16).
 *
 *     client --- relay, a process of its own --- server
 *                every byte leaves it ms / 2 after it came, in either direction
 *
 * The relay ends with this process.
 */
import { fileURLToPath } from 'node:url'
import { FreshetError } from '../errors.js'
import { bareHost } from '../../src/store/index.js'
import { startProcess } from '../serving/process.js'

const PROCESS = fileURLToPath(new URL('delay-process.js', import.meta.url))

/**
 * @typedef {object} Delay
 * @property {string} url as `to`, with the relay's host and port
 * @property {number | undefined} pid
 * @property {Promise<string>} died resolves with the reason when the relay ends unexpectedly; else never
 * @property {() => Promise<number | null>} cpuSeconds of the relay; null = it has ended
 * @property {() => Promise<void>} close ends it and every connection through it; may be called twice
 */

/**
 * @param {{ to: string, ms: number }} line `ms` of a round trip
 * @returns {Promise<Delay>}
 * @throws {FreshetError} LAB_TARGET_REFUSED: TLS verifies the server's name, which the relay lacks; SERVERS_FAILED
 */
export async function startDelay ({ to, ms }) {
  const target = new URL(to)
  if (target.protocol !== 'redis:') {
    throw new FreshetError('LAB_TARGET_REFUSED',
      `--rtt-ms needs a redis:// server, not ${target.protocol}//${target.host}; remove --rtt-ms`)
  }
  const relay = startProcess(`the relay to ${target.host}`, [PROCESS], { ...process.env, NODE_OPTIONS: '' })
  async function started () {
    await relay.receive('loaded')
    relay.send({ event: 'start', host: bareHost(target), port: Number(target.port || 6379), halfMs: ms / 2 })
    return relay.receive('listening')
  }
  const { port } = await started().catch(async ({ message }) => {
    await relay.stop()
    throw new FreshetError('SERVERS_FAILED', message)
  })
  target.hostname = '127.0.0.1'
  target.port = String(port)
  return {
    url: target.href,
    pid: relay.pid,
    died: relay.ended.catch(({ message }) => message),
    cpuSeconds: () => relay.usage().then(({ cpuSeconds }) => cpuSeconds, () => null),
    close: relay.stop
  }
}
