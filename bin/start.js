/**
 * `npm start`: servers, one reader, one gateway and one writer, with one line of output each; Ctrl-C stops all. A process file:
 * reader, gateway and writer are the ordinary commands with ordinary flags.
 */
import { settingsOf } from '../settings.js'
import { layoutNames } from '../src/layouts/index.js'
import { aborted } from '../src/runtime/index.js'
import { DRAIN_MS, flagsOf, runChildren } from './children.js'

const USAGE = `Usage: npm start -- [flags]

Runs embedded servers, one reader, one gateway and one writer until Ctrl-C.

Examples:
  npm start -- --rate 50000 --layout segments
  npm start -- --port 9090 --gateway-port 9091`
/** two on each primary of the embedded cluster */
const CLUSTER_PARTITIONS = '6'
const TLS_AND_ACCESS = ['tokens', 'jwtIssuer', 'jwtAudience', 'jwtKeys', 'tlsCert', 'tlsKey']
const WRITER_SETTINGS = [...TLS_AND_ACCESS, 'feed', 'layout', 'windowMs', 'maxItems', 'rate', 'ids', 'valueBytes', 'keyPrefix']
const READER_SETTINGS = [...TLS_AND_ACCESS, 'corsOrigin', 'rateLimit', 'trustedProxies', 'port', 'keyPrefix']
const GATEWAY_SETTINGS = [...TLS_AND_ACCESS, 'corsOrigin', 'rateLimit', 'trustedProxies', 'layout', 'windowMs', 'maxItems', 'keyPrefix']

/** What an existing feed keeps as it is stored, unless it is asked for. */
const OF_NEW_FEED = ['layout', 'windowMs', 'maxItems']

/** @param {any} settings @param {string[]} names */
const flagsFor = (settings, names) =>
  flagsOf(settings, names.filter((name) => !OF_NEW_FEED.includes(name) || settings.origins[name] !== 'default'))

/**
 * @param {{ argv: string[], env: Record<string, string | undefined> }} from
 * @returns {Promise<number>} exit status
 */
export async function main (from) {
  const settings = await settingsOf(from, { command: 'start', layouts: layoutNames(), acks: [] }, USAGE)
  if (settings === null) return 0
  return runChildren(settings, from.env, (children, signal) => startAll(settings, children, signal))
}

/**
 * @param {any} settings @param {import('./children.js').Children} children @param {AbortSignal} signal
 */
async function startAll (settings, { start, print }, signal) {
  const drain = ['--drain-ms', String(DRAIN_MS)]
  // processes with a port first: if it is in use, nothing is written
  const serving = [
    start('reader', flagsOf(settings, READER_SETTINGS), () => null),
    start('gateway', [...flagsFor(settings, GATEWAY_SETTINGS), '--port', String(settings.gatewayPort), ...drain], () => null)
  ]
  const ups = await Promise.race([aborted(signal), Promise.all(serving.map(({ up }) => up))])
  if (signal.aborted) return
  // FRESHET_HOST is for reader and gateway; metrics of the writer stay on this machine
  const here = process.env.FRESHET_OPEN === 'true' ? [] : ['--host', '127.0.0.1']
  // the feed of a writer that is up is stored, so that what the lines invite to works at once
  const spread = settings.cluster ? ['--partitions', CLUSTER_PARTITIONS] : []
  const flags = [...flagsFor(settings, WRITER_SETTINGS), ...spread, ...drain, ...here, ...(settings.json ? ['--json'] : [])]
  start('writer', flags, ({ engine, layout }) => {
    const [reader, gateway] = /** @type {{ url: string }[]} */ (ups)
    print('reader', `${reader.url}   open this page; Ctrl-C stops everything`)
    print('gateway', `${gateway.url}   POST items here`)
    return `${settings.rate.toLocaleString('en')} items/s into feed ${settings.feed}, layout ${layout}, on ${engine}`
  })
}
