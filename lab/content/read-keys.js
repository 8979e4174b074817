/** Reads whole keys in batches of bounded size (src/read-size.js), while nothing is written. */
import { createReadSize, MAX_READ } from '../../src/layouts/index.js'

/** @typedef {import('../../src/store/index.js').Connection} Connection */

/** @param {(from: number, to: number) => Promise<Buffer[]>} read up to as many elements; fewer at the end */
async function readRanges (read) {
  const size = createReadSize()
  for (let at = 0; ;) {
    const requested = Math.min(MAX_READ, size.of(MAX_READ))
    const elements = await read(at, at + requested - 1)
    size.learn(elements)
    if (elements.length < requested) return
    at += elements.length
  }
}

/**
 * @param {Connection} connection @param {string} name of a sorted set
 * @param {(member: Buffer, score: number) => void} each newest first
 * @param {(members: Buffer[], scores: number[]) => Promise<void>} [whole] after each batch
 */
export const readSortedSet = (connection, name, each, whole = async () => {}) => readRanges(async (from, to) => {
  /** @type {Buffer[]} member, score, member, score, ... */
  const flat = await connection.send('ZREVRANGE', name, from, to, 'WITHSCORES')
  const members = flat.filter((_, i) => i % 2 === 0)
  const scores = flat.filter((_, i) => i % 2 === 1).map((score) => Number(score.toString('latin1')))
  members.forEach((member, i) => each(member, scores[i]))
  await whole(members, scores)
  return members
})

/**
 * @param {Connection} connection @param {string} name of a list
 * @param {(element: Buffer) => void} each from its head
 */
export const readList = (connection, name, each) => readRanges(async (from, to) => {
  /** @type {Buffer[]} */
  const elements = await connection.send('LRANGE', name, from, to)
  elements.forEach(each)
  return elements
})

/** What a scan returns, some of it twice. @param {(cursor: string) => Promise<[cursor: Buffer, found: Buffer[]]>} read */
async function scanned (read) {
  /** @type {Buffer[]} */
  const all = []
  let cursor = '0'
  do {
    const [next, found] = await read(cursor)
    for (const one of found) all.push(one)
    cursor = String(next)
  } while (cursor !== '0')
  return all
}

/**
 * @param {Connection} connection @param {string} name of a set
 * @returns {Promise<Buffer[]>} its members in any order, possibly with duplicates
 */
export const readMembers = (connection, name) => scanned((cursor) => connection.send('SSCAN', name, cursor, 'COUNT', MAX_READ))

/**
 * @param {Connection} connection @param {Buffer} prefix of their keys @param {Buffer[]} ids
 * @param {ReturnType<typeof createReadSize>} [size]
 * @returns {Promise<(Buffer | null)[]>} the value of each id's key
 */
export async function readValues (connection, prefix, ids, size = createReadSize()) {
  /** @type {(Buffer | null)[]} */
  const values = []
  while (values.length < ids.length) {
    const part = ids.slice(values.length, values.length + size.of(ids.length - values.length))
    /** @type {(Buffer | null)[]} */
    const held = await connection.send('MGET', ...part.map((id) => Buffer.concat([prefix, id])))
    size.learn(held)
    for (const value of held) values.push(value)
  }
  return values
}

/**
 * @param {Connection} connection @param {string} prefix without pattern characters
 * @param {(name: Buffer) => boolean} [wanted] default: all
 * @returns {Promise<string[]>} names of keys, each once, sorted
 */
export async function namesOf (connection, prefix, wanted = () => true) {
  const names = await scanned((cursor) => connection.send('SCAN', cursor, 'MATCH', `${prefix}*`, 'COUNT', MAX_READ))
  return [...new Set(names.filter(wanted).map(String))].sort()
}
