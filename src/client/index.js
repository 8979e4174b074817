/**
 * Follows feeds over HTTP: a snapshot, then changes as they come. When a connection ends or is silent, the client resumes
 * from the last position, at the next of several readers.
 *
 *     import { follow } from 'freshet-feed/client'
 *     for await (const { event, items } of follow('http://127.0.0.1:8080', 'latest', { ids: ['bus-7'] })) ...
 *     for await (const { event, feed, items } of follow('http://127.0.0.1:8080', ['buses', 'trams'])) ...
 *
 *     bytes -> events (createEventParser) -> one connection (eventsOf) -> all connections, one after another (run)
 *
 * It pulls: while the caller handles an event, nothing is read, the socket fills up, and the reader keeps only ids for it.
 *
 * It imports nothing and needs only `fetch`, so it also runs in Deno and Bun.
 *
 * The sources are in src/client; browsers load them as one file (/client.js), which `npm run client` writes.
 */
import { checked } from './options.js'
import { run } from './run.js'

export { FollowError } from './error.js'
export { createEventParser } from './events.js'

/** @import { Encoding, FollowOptions, LiveEvent, Readers } from './types.js' */

/**
 * Ends when `signal` is aborted or the loop is left; reconnects for ever after errors that may pass, and throws a FollowError for others.
 * @type {{
 *   <T = any>(readers: Readers, feed: string | readonly string[], options: FollowOptions<'json'> & { encoding: 'json' }):
 *     AsyncGenerator<LiveEvent<'json', T>, void, void>,
 *   <E extends Encoding = 'base64'>(readers: Readers, feed: string | readonly string[], options?: FollowOptions<E>):
 *     AsyncGenerator<LiveEvent<E>, void, void>
 * }}
 * @throws {FollowError} ARGUMENT_INVALID, at once, with all faults; in the loop the codes of FollowError
 */
export const follow = (/** @type {any} */ readers, /** @type {any} */ feed, /** @type {any} */ options = {}) => {
  const over = new AbortController()
  const events = run(checked(readers, feed, options), over)
  const leave = events.return.bind(events)
  // else a generator first waits for its next event
  events.return = (value) => {
    over.abort()
    return leave(value)
  }
  return events
}
