/**
 * The ledger: what became of each payment, by its key. With a file, a change is written there before its reply is sent, so a process that
 * is killed loses nothing.
 *
 * @typedef {{ key: string, amount: number, currency: string, status: 'authorized' | 'captured' | 'declined' | 'voided' | 'refunded',
 *   captured: number, refunded: number, captures: number, at: number }} Entry `amount`, `captured`, `refunded`: minor units; `at`: ms since
 *   1970 of the last change
 */
import { closeSync, existsSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs'
import { SettingsInvalid } from '../../src/errors.js'

/** @typedef {ReturnType<typeof openLedger>} Ledger */

/** @param {string | null} file null: in memory only @throws {SettingsInvalid} */
export function openLedger (file) {
  /** @type {Map<string, Entry>} */
  const entries = new Map()
  if (file !== null && existsSync(file)) for (const entry of entriesIn(file)) entries.set(entry.key, entry)
  const written = file === null ? null : openSync(file, 'a')

  /** @param {Entry} entry @returns {Entry} */
  function store (entry) {
    if (written !== null) writeSync(written, JSON.stringify(entry) + '\n')
    entries.set(entry.key, entry)
    return entry
  }

  /** @param {string} key @param {Partial<Entry>} change */
  const change = (key, change) => store(/** @type {Entry} */ ({ ...entries.get(key), ...change, at: Date.now() }))

  /** @param {string} key @param {number} amount @param {string} currency @param {Entry['status']} status */
  const add = (key, amount, currency, status) =>
    store({ key, amount, currency, status, captured: 0, refunded: 0, captures: 0, at: Date.now() })

  return {
    /** @param {string} key */
    get: (key) => entries.get(key),

    /** @param {{ key: string, amount: number, currency: string }} payment @param {boolean} isDeclined @returns {Entry} */
    authorize: ({ key, amount, currency }, isDeclined) =>
      entries.get(key) ?? add(key, amount, currency, isDeclined ? 'declined' : 'authorized'),

    /** @param {string} key of an entry @param {() => boolean} isDeclined asked if it is authorized @returns {Entry} */
    capture (key, isDeclined) {
      const entry = /** @type {Entry} */ (entries.get(key))
      if (entry.status !== 'authorized') return entry
      if (isDeclined()) return change(key, { status: 'declined' })
      return change(key, { status: 'captured', captured: entry.amount, captures: entry.captures + 1 })
    },

    /** Also of a payment that comes later. @param {string} key @returns {Entry} */
    void (key) {
      const entry = entries.get(key)
      if (entry === undefined) return add(key, 0, '', 'voided')
      return entry.status === 'authorized' ? change(key, { status: 'voided' }) : entry
    },

    /** @param {string} key of an entry @returns {Entry} */
    refund (key) {
      const entry = /** @type {Entry} */ (entries.get(key))
      return entry.status === 'captured' ? change(key, { status: 'refunded', refunded: entry.captured }) : entry
    },

    /** The oldest first. @param {{ after: number, limit: number }} page `after`: how many to leave out */
    page ({ after, limit }) {
      const items = [...entries.values()].slice(after, after + limit)
      return { items, next: after + items.length < entries.size ? after + items.length : null }
    },

    totals () {
      const totals = { payments: entries.size, captured: 0, refunded: 0, twice: 0 }
      for (const { captured, refunded, captures } of entries.values()) {
        totals.captured += captured
        totals.refunded += refunded
        totals.twice += captures > 1 ? 1 : 0
      }
      return totals
    },

    close () { if (written !== null) closeSync(written) }
  }
}

/** @param {string} file @returns {Entry[]} @throws {SettingsInvalid} */
function entriesIn (file) {
  const lines = readFileSync(file, 'utf8').split('\n')
  // a process that was killed may have left a line without its end
  const whole = lines.slice(0, -1)
  try {
    const entries = whole.map((line) => JSON.parse(line))
    truncateSync(file, Buffer.byteLength(whole.map((line) => line + '\n').join('')))
    return entries
  } catch (error) {
    throw new SettingsInvalid([`ledger: ${file} is no ledger: ${error.message}; expected a file that npm start payments has written`])
  }
}
