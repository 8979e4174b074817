/**
 * Servers opened for reading only, as callers of the library see them.
 */
import { invalid, optionsIn, shown } from './arguments.js'
import { checkFeedName } from './feeds/index.js'
import { ENCODINGS } from './options.js'
import { Reading } from './reading.js'

/**
 * A server as this process sees it.
 * @typedef {object} ServerNode
 * @property {string} role primary or replica
 * @property {string} address host and port
 * @property {boolean} connected
 * @property {string | null} engine name and version; null = unknown
 * @property {string} state
 * @property {number | null} lagMs how far it is behind the primary; null = unknown
 */

/** @typedef {{ ready: boolean, reasons: string[], nodes: ServerNode[] }} ReaderStatus whether queries can be answered, and if not, why */

/** Servers opened for reading. Nothing is written, no feed is created. */
export class Reader {
  #inside

  /** @param {unknown} inside of index.js */
  constructor (inside) {
    this.#inside = /** @type {import('./inside.js').OpenedReader} */ (inside)
  }

  /**
   * Definitions of all feeds.
   * @returns {Promise<import('./options.js').Definition[]>}
   * @throws {import('./errors.js').FreshetError} PIPELINE_CLOSED, REPLICAS_GONE, SERVER_LOST, SERVER_REFUSED, SERVER_UNREACHABLE
   */
  feeds = async () => /** @type {import('./options.js').Definition[]} */ (await (await this.#inside.views()).definitions())

  /**
   * One feed. It is looked up by its first query. With `encoding: 'json'` values are parsed; their type is not checked.
   * @type {{
   *   <T = any>(name: string, options: { encoding: 'json' }): Reading<T>,
   *   (name: string, options?: { encoding?: 'bytes' }): Reading
   * }}
   * @throws {import('./errors.js').FreshetError} FEED_NAME_INVALID, ARGUMENT_INVALID
   */
  feed = this.#reading.bind(this)

  /**
   * Whether queries can be answered, and the state of each server.
   * @returns {ReaderStatus}
   */
  status = () => this.#inside.status()

  /**
   * Ends subscriptions and closes all connections.
   * @returns {Promise<void>}
   */
  close = () => this.#inside.close()

  /** @param {string} name @param {{ encoding?: string }} [options] @returns {Reading<any>} */
  #reading (name, options) {
    const { encoding = 'bytes' } = optionsIn(options, ['encoding'])
    if (!ENCODINGS.includes(encoding)) throw invalid(`encoding ${shown(encoding)}; expected ${ENCODINGS.join(' | ')}`)
    return new Reading({ ...this.#inside, feed: checkFeedName(name), isJson: encoding === 'json' })
  }
}
