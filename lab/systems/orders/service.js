/** Processes of one kind, which share the work. */

/** @typedef {import('../../serving/process.js').Process} Process */
/** @typedef {Awaited<ReturnType<typeof openService>>} Service */

const UP_MS = 60_000

/**
 * @param {(port: string) => Process} run starts one, which tells `up`; a port of 0 is any
 * @param {number} count
 * @param {(urls: string[]) => void} [onUrls] of those that are up, when they change
 */
export async function openService (run, count, onUrls = () => {}) {
  /** @type {{ process: Process, url: string }[]} `url` empty: it is not up yet */
  const all = []

  const urls = () => all.flatMap(({ url }) => url === '' ? [] : [url])

  async function add () {
    const one = { process: run('0'), url: '' }
    all.push(one)
    one.url = String((await one.process.receive('up', UP_MS)).url ?? '')
    onUrls(urls())
  }
  await Promise.all(Array.from({ length: count }, add))

  return {
    add,
    get processes () { return all.map(({ process }) => process) },
    /** of those that are up */
    get urls () { return urls() },

    /** The last one, when it has done what it had begun. */
    async remove () {
      const last = all.pop()
      onUrls(urls())
      await last?.process.stop()
    },

    /**
     * One of them, which is started again at its place, and again while it does not come up: its servers may be away.
     * @param {(pid: number) => Promise<unknown>} [before] it is killed @returns {Promise<void>} when it is up
     */
    async kill (before = async () => {}) {
      const one = all[Math.floor(Math.random() * all.length)]
      await before(Number(one.process.pid))
      one.process.kill()
      // its port is free again
      await one.process.stop()
      const untilMs = performance.now() + UP_MS
      for (let isUp = false; !isUp;) {
        one.process = run(one.url === '' ? '0' : new URL(one.url).port)
        isUp = await one.process.receive('up', UP_MS).then(() => true, (error) => {
          if (performance.now() > untilMs) throw error
          return false
        })
      }
    }
  }
}
