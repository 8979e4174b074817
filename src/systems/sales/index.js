/**
 * Sales: first come, first served, on rule `bounded` of Freshet.
 *
 *     gateway    commands.js -> admission
 *     consumers  outbox -> orders.js -> SQL, and back after the servers were replaced
 *     reader     outbox -> key view -> queries.js; waiting room
 */
import { rules } from 'freshet-feed/systems'
import { CLAIM_COMMANDS } from './claims.js'
import { createSales, SALE_COMMANDS } from './commands.js'
import { ERRORS } from './replies.js'
import { createOrderWriter, createRestorer, createSettlement, ORDER_WRITER } from './orders.js'
import { createSaleQueries, QUERIES, STREAMS } from './queries.js'
import { QUEUE_COMMANDS } from './queue.js'
import { SETTINGS } from './settings.js'
import { ALGORITHMS, createTokens, readTicket } from './tokens.js'

/** @type {import('freshet-feed/systems').System} */
export default {
  name: 'sales',
  rules: { bounded: rules.bounded },
  errors: ERRORS,
  settings: SETTINGS,
  unknown: 'SALE_UNKNOWN',
  durability: 'replica',
  withoutReplica: 'memory',
  driver: ORDER_WRITER,
  hasRows: true,
  needsDatabase: true,
  demo: {
    about: '2,000 people want the 100 units of a sale that is repeated every minute',
    commands: 'PUT sales and POST claims here',
    tasks: 'holds expire, sales open and close in time',
    crowd: () => import('./crowd.js')
  },
  page: { file: 'sales.html', summary: 'The current sale', isOfCommands: true },
  commands: { ...SALE_COMMANDS, ...CLAIM_COMMANDS, ...QUEUE_COMMANDS },
  queries: QUERIES,
  stream: STREAMS,
  migrations: new URL('./migrations/', import.meta.url),
  reader: createSaleQueries,

  gateway ({ submit, agreed, memberOf, settings, router, systemKey, waits: openWaits, watchDatabase }) {
    const { databaseUrl, durability, saleTokenKey: file, ackWithinMs } = settings
    const health = durability === 'db' ? watchDatabase() : null
    const waits = databaseUrl !== null || health ? openWaits() : null
    const settlement = waits && health && createSettlement({
      waits,
      isUp: health.isUp,
      statusOf: async (sale, claim) => String(await memberOf(sale, `claim ${claim}`)).split(' ')[0],
      deadlineMs: ackWithinMs
    })
    const tokens = createTokens({ router, key: `${systemKey}:token-key`, file })
    return {
      commands: createSales({ submit, agreed, tokens, settlement, waits }),
      ...waits && {
        onEntry ({ key, fields: { type, claim } }) {
          waits.note(key)
          if (claim) waits.note(`${key} ${claim}`, type)
        },
        close: waits.close
      }
    }
  },

  consumers ({ submit, partitionOf, stateOf, database, log }) {
    if (database === null) return {}
    const { restore, restoreAll } = createRestorer({ database, submit, log })
    return {
      rows: { [ORDER_WRITER]: createOrderWriter({ stateOf, restore, database, submit }) },
      onPrimary: (partition) => restoreAll((sale) => partitionOf(sale) === partition)
    }
  }
}

export { ALGORITHMS, createOrderWriter, createSales, createTokens, readTicket }
