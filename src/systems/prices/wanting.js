/**
 * An asset without a price that can be served: one refresh is asked for, whose outcome all waiting requests get, here and on other readers.
 *
 *     want -> rule `latest`: accepted once -> the owner refreshes -> its event is in the memory of this reader -> waiting requests
 */
import { isUsable } from './replies.js'

const RULE = 'latest'
const WAIT_MS = 900

/**
 * @typedef {import('../../admission/index.js').KeyState} KeyState
 * @param {{ view: import('../../admission/index.js').KeyView, reading: Pick<import('../reading.js').Reading, 'until'>, now: () => number,
 *   submit: (command: import('../../admission/index.js').Command) => Promise<import('../../admission/index.js').Decision> }} parts
 */
export function createWanting ({ view, reading, submit, now }) {
  /** @type {Map<string, Promise<KeyState | null>>} */
  const waiting = new Map()

  /** @param {string} asset @returns {Promise<KeyState | null>} */
  async function want (asset) {
    const before = await view.get(asset)
    const { code } = await submit({ rule: RULE, key: asset, scope: '', requestId: '', args: ['want'] })
    if (code === 'unknown') return null
    if (code !== 'accepted' && code !== 'in_progress') return view.fromPrimary(asset)
    const failedBefore = before?.fields.failedAt
    const isDue = (/** @type {KeyState | null} */ one) =>
      one !== null && (isUsable(one.fields, now()) || one.fields.failedAt !== failedBefore)
    const one = await reading.until(asset, () => view.get(asset), isDue, WAIT_MS)
    return isDue(one) ? one : view.fromPrimary(asset)
  }

  /**
   * @param {string} asset
   * @returns {Promise<KeyState | null>} as it is after the refresh, or after 0.9 s; null: there is none
   * @throws {import('../../errors.js').FreshetError} of the connection, and SERVER_REFUSED without the permission to want
   */
  return (asset) => {
    const wanted = waiting.get(asset) ?? want(asset).finally(() => waiting.delete(asset))
    waiting.set(asset, wanted)
    return wanted
  }
}
