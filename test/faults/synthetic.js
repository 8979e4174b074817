/** A synthetic writer on one server, and what it leaves behind: item k, from 0, has id bus-(k mod `ids`) and a value that says k + 1. */
import { openReader } from '../../src/index.js'
import { runCommand } from '../commands.js'
import { startWriter as startHere } from '../flow/writer.js'
import { connectFor, eventually } from '../servers.js'

const FLAGS = ['--read-from', 'primary', '--window-ms', '86400000']
const PAGE = 10_000

/** In the process of the test. @param {import('tap').Test} t @param {string} url @param {string[]} flags */
export const startWriter = (t, url, flags) => startHere(t, [...FLAGS, ...flags], { redisUrl: url })

/** The command. @param {import('tap').Test} t @param {string} url @param {string[]} flags */
export const runWriter = (t, url, flags) => runCommand(t, ['writer', '--redis-url', url, ...FLAGS, ...flags])

/** Waits until the server has so many ids. @param {import('tap').Test} t @param {string} url @param {number} ids */
export async function untilStored (t, url, ids) {
  const admin = await connectFor(t, url)
  await eventually(async () => await admin.send('ZCARD', 'fr:{latest:0}:ids') >= ids)
}

/** @param {{ items: number, ids: number }} run @returns {[string, number][]} each id with the number of its newest version */
export const newestOf = ({ items, ids }) =>
  Array.from({ length: Math.min(items, ids) }, (_, k) => [`bus-${k}`, k + 1 + ids * Math.floor((items - 1 - k) / ids)])

/** @param {{ id: string, value: any }[]} items read with encoding=json @returns {[string, number][]} in the order of the ids */
export const numbersOf = (items) => items.map(({ id, value }) => /** @type {[string, number]} */ ([id, Number(value.n)]))
  .sort(([a], [b]) => Number(a.slice(4)) - Number(b.slice(4)))

/**
 * What a reader finds on the primary.
 * @param {import('tap').Test} t
 * @param {string} url
 * @returns {Promise<[string, number][]>} as `newestOf`
 */
export async function storedIn (t, url) {
  const reader = await openReader({ redisUrl: url, readFrom: 'primary', views: 'none', deadlineMs: 20_000 })
  t.teardown(() => reader.close())
  /** @type {{ id: string, value: any }[]} */
  const found = []
  let after = null
  do {
    /** @type {any} */
    const page = await eventually(() => reader.feed('latest').latest({ limit: PAGE, after }))
    for (const { id, value } of page.items) found.push({ id, value: JSON.parse(value) })
    after = page.next
  } while (after !== null)
  return numbersOf(found)
}
