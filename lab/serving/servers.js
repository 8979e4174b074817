/** The processes that serve in a measurement: readers, the reference servers of serve-process.js, or Centrifugo. */
import { fileURLToPath } from 'node:url'
import { ASK_RANGE } from './plan.js'
import { startProcess } from './process.js'

const SERVE_PROCESS = fileURLToPath(new URL('serve-process.js', import.meta.url))
const CENTRIFUGO_PROCESS = fileURLToPath(new URL('centrifugo-process.js', import.meta.url))

/** @typedef {ReturnType<typeof startServers>} Servers */

/**
 * @param {import('./plan.js').Serving} serving
 * @param {Pick<import('./index.js').Place, 'redisUrl' | 'replicaUrls' | 'keyPrefix' | 'feed' | 'layout' | 'readerCommand' | 'env'>} place
 */
export function startServers ({ by, processes, settings }, { redisUrl, replicaUrls, keyPrefix, feed, layout, readerCommand, env }) {
  const isReader = by === 'reader'
  const isOfPrimary = by === 'centrifugo' || settings.readFrom === 'primary'
  const start = () => isReader
    ? startProcess('the reader', readerCommand({ ...settings, keyPrefix, port: 0 }),
      { ...env, FRESHET_REDIS_URL: redisUrl, FRESHET_REPLICA_URL: replicaUrls.join(',') })
    : startProcess(`the server ${by}`, [by === 'centrifugo' ? CENTRIFUGO_PROCESS : SERVE_PROCESS], env)
  let running = Array.from({ length: processes }, start)
  /** of processes that have ended */
  let endedCpuSeconds = 0

  /** @param {import('./process.js').Process} server @returns {Promise<string>} its URL */
  async function up (server) {
    if (!isReader) {
      await server.receive('loaded')
      server.send({ event: 'start', urls: isOfPrimary ? [redisUrl] : replicaUrls, keyPrefix, feed, layout, isRange: by === ASK_RANGE })
    }
    return (await server.receive('up')).url
  }

  const usages = () => Promise.all(running.map((server) => server.usage()))

  return {
    get running () { return running },
    usages,

    /** @returns {Promise<string[]>} URLs, once all processes are up */
    allUp: () => Promise.all(running.map(up)),

    /** Stops the only process. */
    async stopFirst () {
      endedCpuSeconds += (await running[0].usage()).cpuSeconds
      await running[0].stop()
    },

    /** Starts a fresh process in its place. @returns {Promise<string>} resolves with its URL when it is up */
    startFresh () {
      running = [start()]
      return up(running[0])
    },

    /**
     * From now on they send a constant response.
     * @param {object | null} constant @returns {Promise<number | null>} bytes of it, where they are known
     */
    async sendConstant (constant) {
      for (const server of running) server.send({ event: 'constant', ...constant })
      const [{ bytes }] = await Promise.all(running.map((server) => server.receive('constant')))
      return bytes
    },

    /** @returns {Promise<number>} of all processes since they were started, including those that have ended */
    cpuSeconds: async () => (await usages()).reduce((sum, usage) => sum + usage.cpuSeconds, endedCpuSeconds)
  }
}
