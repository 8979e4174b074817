/** A process of the lab that answers messages: it is sent its order, and says that it is up. */
import { fork } from 'node:child_process'
import { once } from 'node:events'

/** @typedef {Awaited<ReturnType<typeof startProcess>>} LabProcess */

/** @param {string} file @param {object} order */
export async function startProcess (file, order) {
  const child = fork(file, [], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const exited = once(child, 'exit')
  let cpuMicros = 0
  child.on('message', (/** @type {any} */ message) => { if (message.event === 'cpu') cpuMicros = message.cpuMicros })
  /** @param {object} message @param {string} event of the reply @returns {Promise<any>} */
  const ask = (message, event) => new Promise((resolve, reject) => {
    const take = (/** @type {any} */ reply) => {
      if (reply.event !== event) return
      child.off('message', take)
      resolve(reply)
    }
    child.on('message', take)
    exited.then(([status]) => reject(new Error(`a process of the lab ended with status ${status}`)))
    child.send(message, (error) => { if (error) reject(error) })
  })
  const up = await ask({ event: 'start', ...order }, 'up')
  return {
    up,
    ask,
    send: (/** @type {object} */ message) => { child.send(message) },
    cpuMicros: () => cpuMicros,
    async close () {
      child.disconnect()
      await exited
    }
  }
}
