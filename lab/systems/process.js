/** A process of the lab that is opened, and then asked: a gateway (gateway.js), or a replica. */
import { fileURLToPath } from 'node:url'
import { FreshetError } from '../errors.js'
import { startProcess } from '../serving/process.js'

/** of filling a cache, and of installing libraries first */
const LONG_MS = 200_000

/** @typedef {Awaited<ReturnType<typeof openProcess>>} LabProcess */

/**
 * @param {import('../serving/process.js').Process} one that has been started
 * @param {object} order
 * @throws {FreshetError} what kept it from opening
 */
export async function openProcess (one, order) {
  await one.receive('ready')
  one.send({ event: 'open', ...order })
  const { url, code, message } = await one.receive('opened', LONG_MS)
  if (code) throw new FreshetError(code, message)
  return {
    ...one,
    url: String(url),
    /** @param {string} event @param {object} [fields] @returns {Promise<any>} its answer */
    ask (event, fields) {
      one.send({ event, ...fields })
      return one.receive(event, LONG_MS)
    }
  }
}

/**
 * @param {string} what it is, for messages @param {URL} file @param {object} order
 * @returns {Promise<LabProcess>}
 */
export async function startOpened (what, file, order) {
  const one = startProcess(what, [fileURLToPath(file)], process.env)
  try {
    return await openProcess(one, order)
  } catch (error) {
    await one.stop()
    throw error
  }
}
