/**
 * Runs as a process of its own, because a hostile server might end it. Uses all addresses of a group at the same time, each with a
 * connection, a connection for a log, a link, a feed writer and a reader in turn, and then the next group. Prints how each promise
 * settled, as JSON lines.
 *
 *     node hostile-client.js <deadlineMs> <url>,<url>,... <url>,...
 */
import { setTimeout as pause } from 'node:timers/promises'
import { openReader } from '../../src/index.js'
import { openConnection } from '../../src/store/connection.js'
import { createLink } from '../../src/store/link.js'
import { openWriterFor } from '../servers.js'

const LINK_MS = 300
const [deadlineMs, ...groups] = process.argv.slice(2)
/** it is closed here @type {any} */
const noTest = { teardown () {} }
const options = { name: 'meeting', deadlineMs: Number(deadlineMs) }

/** @param {Promise<unknown>} promise @returns {Promise<string>} */
const outcomeOf = (promise) => promise.then(() => 'answered', (error) => error.code ?? `no code: ${error.stack}`)

/** @param {string} url @returns {Promise<string[]>} */
async function meetConnection (url) {
  const opening = openConnection(url, options)
  const outcomes = [await outcomeOf(opening)]
  const connection = await opening.catch(() => null)
  if (connection === null) return outcomes
  const ping = Buffer.from('*1\r\n$4\r\nPING\r\n')
  outcomes.push(...await Promise.all([
    connection.send('PING'), connection.sendAll([['PING'], ['PING']]),
    connection.sendEncoded({ bytes: Buffer.concat([ping, ping]), replies: 2 }),
    connection.runScript('trim-ids', ['ids'], [0, 0])
  ].map(outcomeOf)))
  connection.close()
  await connection.closed
  return outcomes
}

/** It has a parser of its own. @param {string} url @returns {Promise<string[]>} */
async function meetLogConnection (url) {
  const opening = openConnection(url, { ...options, isForLog: true })
  const outcomes = [await outcomeOf(opening)]
  const connection = await opening.catch(() => null)
  if (connection === null) return outcomes
  const following = () => connection.send('XREAD', 'COUNT', 10, 'STREAMS', 'log', '0-0')
  outcomes.push(...await Promise.all([connection.send('PING'), following(), following(), connection.send('XRANGE', 'log', '-', '+'),
    following()].map(outcomeOf)))
  connection.close()
  await connection.closed
  return outcomes
}

/** @param {string} url @returns {Promise<string[]>} */
async function meetLink (url) {
  const link = createLink(url, { ...options, prepare: (connection) => connection.send('INFO') })
  const outcomes = [await outcomeOf(link.opened)]
  await pause(LINK_MS)
  await link.close()
  return outcomes
}

/** @param {string} url @returns {Promise<string[]>} */
async function meetWriter (url) {
  const opening = openWriterFor(noTest, { redisUrl: url, deadlineMs: options.deadlineMs })
  const outcomes = [await outcomeOf(opening)]
  const writer = await opening.catch(() => null)
  if (writer === null) return outcomes
  writer.pipeline.append(Buffer.from('a'), Date.now(), Buffer.from('v'))
  outcomes.push(await outcomeOf(writer.pipeline.flush({ deadlineMs: 500 })))
  await writer.close({ drainMs: 0 })
  return outcomes
}

/** Nodes of a deployment, views, questions, changes. @param {string} url @returns {Promise<string[]>} */
async function meetReader (url) {
  const opening = openReader({ redisUrl: url, replicaUrl: [url], deadlineMs: options.deadlineMs })
  const outcomes = [await outcomeOf(opening)]
  const reader = await opening.catch(() => null)
  if (reader === null) return outcomes
  const feed = reader.feed('latest')
  const changes = (async () => {
    for await (const change of feed.subscribe({ signal: AbortSignal.timeout(LINK_MS) })) {
      if (change === undefined) throw new Error('a change of nothing')
    }
  })()
  outcomes.push(...await Promise.all([reader.feeds(), feed.latest(10), feed.get('a'), feed.count(), changes].map(outcomeOf)))
  await reader.close()
  return outcomes
}

/** @param {string} url */
async function meet (url) {
  const outcomes = [await meetConnection(url), await meetLogConnection(url), await meetLink(url), await meetWriter(url),
    await meetReader(url)]
  process.stdout.write(JSON.stringify({ url, outcomes: outcomes.flat(), mostMib: process.resourceUsage().maxRSS / 1024 }) + '\n')
}

for (const group of groups) await Promise.all(group.split(',').map(meet))
