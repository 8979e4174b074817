/**
 * The archive: events of orders, products and customers in SQL, and the views of them, in one transaction with the cursor.
 *
 * An event that is there already is left alone, because an entry may be written again. One with the same number and another content is from
 * a history that the servers have lost: it is counted, and logged as an error.
 *
 * @typedef {import('freshet-feed/systems').RawEntry} Entry
 */
import { isDeepStrictEqual } from 'node:util'
import { columnsOf } from 'freshet-feed/systems'
import { sagaIdOf } from './keys.js'
import { lockPartitions, writeViews } from './views.js'

/** Entries of these types are for the owner of the partition, and are no events. */
const SIGNALS = Object.freeze(['wanted', 'resume'])
const SEQ_STEP = 1_000_000n

const WRITE = `INSERT INTO events (partition, generation, seq, aggregate, version, type, data, at)
  SELECT partition, generation, seq, aggregate, version, type, data, to_timestamp(ms / 1000.0)
  FROM unnest($1::int[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::jsonb[], $8::float8[])
    AS one (partition, generation, seq, aggregate, version, type, data, ms)
  ON CONFLICT DO NOTHING RETURNING aggregate, version`
const STORED = `SELECT stored.aggregate, stored.version, stored.data FROM events stored
  JOIN unnest($1::text[], $2::bigint[]) AS one (aggregate, version) USING (aggregate, version)`

/**
 * @param {{ partitionOf: (key: string) => number, generationOf: (partition: number, id: string) => Promise<string>,
 *   confirm: (partition: number) => Promise<void>, resume: (key: string) => Promise<unknown>, onDifferent: () => void,
 *   log: any }} parts `generationOf`: lineage on the primary, which must have the entry; `confirm`: what is in the
 *   outbox is as durable as orders are; `resume` an order whose dead letter was replayed
 * @returns {{ name: string } & import('freshet-feed/systems').Rows}
 */
export function createArchive ({ partitionOf, generationOf, confirm, resume, onDifferent, log }) {
  return {
    name: 'archive',

    write: (client, entries) => writeAll(client, [{ partition: partitionOf(entries[0].key), entries }]),
    writeAll,

    async after (entries) {
      await Promise.all(entries.filter(({ fields }) => fields.type === 'resume').map(({ key }) => resume(key)))
    }
  }

  /** @type {NonNullable<import('freshet-feed/systems').Rows['writeAll']>} */
  async function writeAll (client, batches) {
    const written = batches.filter(({ entries }) => entries.some(isEvent))
    if (written.length === 0) return
    // a primary that is promoted later has no other history
    await Promise.all(written.map(({ partition }) => confirm(partition)))
    await lockPartitions(client, written.map(({ partition }) => partition), 'shared')
    const events = (await Promise.all(written.map(async ({ partition, entries }) => {
      const generation = await generationOf(partition, /** @type {Entry} */ (entries.at(-1)).id)
      return entries.filter(isEvent).map((entry) => ({ partition, generation, ...eventOf(entry) }))
    }))).flat()
    const { rows } = await client.query(WRITE, columnsOf(events, ({ partition, generation, seq, aggregate, version, type, data, ms }) =>
      [partition, generation, seq, aggregate, version, type, JSON.stringify(data), ms]))
    if (rows.length < events.length) {
      const isNew = new Set(rows.map(({ aggregate, version }) => `${aggregate} ${version}`))
      await compare(client, events.filter(({ aggregate, version }) => !isNew.has(`${aggregate} ${version}`)))
    }
    await writeViews(client, [...new Set(events.map(({ aggregate }) => aggregate))])
  }

  /** @param {import('freshet-feed/systems').Client} client @param {ReturnType<typeof eventOf>[]} events that were there already */
  async function compare (client, events) {
    const { rows } = await client.query(STORED, [events.map(({ aggregate }) => aggregate), events.map(({ version }) => version)])
    const stored = new Map(rows.map(({ aggregate, version, data }) => [`${aggregate} ${version}`, data]))
    for (const { aggregate, version, data } of events) {
      if (isDeepStrictEqual(stored.get(`${aggregate} ${version}`), data)) continue
      onDifferent()
      const sagaId = sagaIdOf(aggregate)
      log.error({ code: 'EVENTS_DIFFER', sagaId, aggregate, version }, 'the database has another event with this number')
    }
  }
}

/** @param {Entry} entry */
const isEvent = ({ fields }) => !SIGNALS.includes(fields.type)

/** @param {Entry} entry */
function eventOf ({ id, key, fields: { ts, request, seq, type, ...data } }) {
  const [ms, n] = id.split('-')
  return { seq: String(BigInt(ms) * SEQ_STEP + BigInt(n)), aggregate: key, version: Number(seq), type, data, ms: Number(ts) }
}
