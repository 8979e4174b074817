/** Seats of halls: held for two minutes, then confirmed, released or expired; at most four a person. docs/own-systems.md builds it. */
import { mkdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const RECEIPTS = process.env.SEATS_RECEIPTS ?? join(tmpdir(), 'seats-receipts')
const seat = { type: 'string', pattern: '^[A-Z]-[1-9][0-9]?$', description: 'row and number, such as B-7' }
const person = { type: 'string', pattern: '^[A-Za-z0-9_.-]{1,64}$', description: 'who holds it, asserted by the holder of the token' }
const code = { type: 'string' }

/**
 * The state after an event: what hall.lua did. checkRule compares both.
 * @type {import('freshet-feed/systems').Rule['fold']}
 */
const fold = (state, { type, rows, perRow, seat, person }) => {
  const count = Number(state[`of:${person}`] ?? 0) + (type === 'held' ? 1 : -1)
  if (type === 'created') return { ...state, rows, perRow }
  if (type === 'sold') return { ...state, [`seat:${seat}`]: `sold ${person}` }
  return {
    ...state,
    [`seat:${seat}`]: type === 'held' ? `held ${person}` : undefined,
    [`of:${person}`]: count > 0 ? String(count) : undefined
  }
}

/**
 * What can never be accepted again in this hall: a sold seat stays sold.
 * @type {import('freshet-feed/systems').Rule['certain']}
 */
const certain = (state, [op, seat]) =>
  op === 'hold' && state[`seat:${seat}`]?.startsWith('sold ') ? { code: 'taken', details: { seat } } : null

/** What the public sees: no names. */
const shown = ({ key, state, seq }) => ({
  hall: key,
  rows: Number(state.rows),
  perRow: Number(state.perRow),
  taken: Object.fromEntries(Object.entries(state).flatMap(([name, value]) =>
    name.startsWith('seat:') ? [[name.slice('seat:'.length), value.split(' ')[0]]] : [])),
  seq
})

/** A command of the hall in the path, whose arguments are its name, the seat and the person. */
const ofSeat = (op) => ({ params, body }) => ({ rule: 'hall', key: params.id, args: [op, body.seat, body.person] })

/** @type {import('freshet-feed/systems').System} */
export default {
  name: 'seats',
  rules: { hall: { lua: new URL('./hall.lua', import.meta.url), version: 1, fold, certain } },
  errors: {
    HALL_UNKNOWN: { status: 404, meaning: 'there is no hall with this id' },
    HALL_EXISTS: { status: 409, meaning: 'the hall exists with other rows' },
    SEAT_UNKNOWN: { status: 404, meaning: 'the hall has no such seat' },
    SEAT_TAKEN: { status: 409, meaning: 'the seat is held or sold' },
    SEAT_NOT_HELD: { status: 409, meaning: 'this person does not hold the seat' },
    SEAT_LIMIT: { status: 409, meaning: 'this person has four seats' }
  },
  unknown: 'HALL_UNKNOWN',
  commands: {
    create: {
      method: 'PUT',
      path: '/v1/halls/:id',
      access: 'admin',
      summary: 'Create a hall',
      body: { rows: { type: 'integer', minimum: 1, maximum: 26 }, perRow: { type: 'integer', minimum: 1, maximum: 99 } },
      command: ({ params, body }) => ({ rule: 'hall', key: params.id, args: ['create', String(body.rows), String(body.perRow)] }),
      replies: { created: 201, unchanged: 200, exists: 'HALL_EXISTS' }
    },
    hold: {
      path: '/v1/halls/:id/holds',
      summary: 'Hold a seat for two minutes',
      body: { seat, person },
      command: ofSeat('hold'),
      replies: { held: 201, no_such_hall: 'HALL_UNKNOWN', no_such_seat: 'SEAT_UNKNOWN', taken: 'SEAT_TAKEN', over_limit: 'SEAT_LIMIT' }
    },
    confirm: {
      path: '/v1/halls/:id/sales',
      summary: 'Confirm a seat that is held',
      body: { seat, person },
      command: ofSeat('confirm'),
      replies: { sold: 201, no_such_hall: 'HALL_UNKNOWN', not_held: 'SEAT_NOT_HELD' }
    },
    release: {
      path: '/v1/halls/:id/releases',
      summary: 'Release a seat that is held',
      body: { seat, person },
      command: ofSeat('release'),
      replies: { released: 200, no_such_hall: 'HALL_UNKNOWN', not_held: 'SEAT_NOT_HELD' }
    }
  },
  queries: {
    hall: {
      path: '/v1/halls/:id',
      summary: 'A hall, with its seats that are held or sold',
      reply: { type: 'object', properties: { hall: code, taken: { type: 'object' } } },
      shown
    }
  },
  stream: { path: '/v1/halls/:id/live', summary: 'A hall, then its events', snapshot: shown, event: ({ person, ...event }) => event },
  consumers: {
    /**
     * A receipt for each sold seat. Its name is that of the event, so a second handler of the same entry, in this process or in another one
     * that took the partition over, writes no second one.
     */
    async receipts (entries, { signal }) {
      await mkdir(RECEIPTS, { recursive: true })
      for (const { key, type, seq, seat, person, ts } of entries) {
        if (type !== 'sold') continue
        const text = JSON.stringify({ hall: key, seat, person, at: new Date(ts).toISOString() })
        await writeFile(join(RECEIPTS, `${key}-${seq}.json`), text, { flag: 'wx', signal }).catch((error) => {
          if (error.code !== 'EEXIST') throw error
        })
      }
    }
  }
}
