/**
 * Prices, on rule `latest` of Freshet.
 *
 *     consumers  task `refresh` -> sources -> aggregate -> rule `latest` -> state, events, outbox
 *     gateway    commands.js -> admission
 *     reader     outbox -> key view -> queries.js
 */
import { rules } from 'freshet-feed/systems'
import { createRefresher } from './aggregate.js'
import { COMMANDS, createPrices, keepAssets, readAssets, timesOf } from './commands.js'
import { createDemand } from './demand.js'
import { ERRORS } from './errors.js'
import { exchangesOf } from './exchanges/exchanges.js'
import { findings, openPriceStore } from './store/index.js'
import { createPriceLive } from './live.js'
import { createPriceMetrics, createPriceReplyMetrics } from './metrics.js'
import { createPriceQueries } from './queries.js'
import { QUERIES, STREAM } from './query-table.js'
import { createEncoder } from './replies.js'
import { SETTINGS } from './settings.js'
import { loadSources } from './sources/own.js'
import { createSources } from './sources/sources.js'

/** @type {import('freshet-feed/systems').System} */
export default {
  name: 'prices',
  rules: { latest: rules.latest },
  errors: ERRORS,
  settings: SETTINGS,
  unknown: 'ASSET_UNKNOWN',
  durability: 'memory',
  demo: {
    about: 'the prices of 1,000 assets are kept fresh from three local exchanges',
    commands: 'PUT assets here',
    tasks: 'prices are refreshed',
    beside: 'exchanges',
    crowd: () => import('./crowd.js')
  },
  page: { file: 'prices.html', summary: 'Prices and their sources', hasFaults: true },
  commands: COMMANDS,
  queries: QUERIES,
  stream: STREAM,
  // so many that a popular asset is not read again; events of an asset are not served from memory
  memory: { maxKeys: 20_000, tail: 1 },
  findings,
  metrics: { reader: createPriceReplyMetrics, consumers: createPriceMetrics },

  gateway ({ submit, stateOf, settings, waits: openWaits, primaryIds, log }) {
    const waits = openWaits()
    const prices = createPrices({ submit, stateOf, tiers: timesOf(settings.tiers), waits })
    const assets = settings.assets === null ? [] : readAssets(settings.assets)
    const stop = new AbortController()
    const keeping = assets.length > 0 && keepAssets(assets, { prices, primaryIds, log, signal: stop.signal })
    return {
      commands: prices,
      onEntry: ({ key }) => waits.note(key),
      async close () {
        waits.close()
        stop.abort()
        await keeping
      }
    }
  },

  async reader (parts) {
    const { submit, now, isShared, metrics, settings, embedded, log } = parts
    const onFailure = (/** @type {Error & { code?: string }} */ { code, message }) =>
      log.error({ code, reason: message }, 'prices are served without their history store')
    const store = await openPriceStore(settings, { embedded, onFailure, metrics: metrics.store }).catch((error) => {
      onFailure(error)
      return null
    })
    const demand = createDemand({ submit, onDropped: metrics.uncounted })
    const live = createPriceLive(parts)
    return {
      queries: {
        ...createPriceQueries({ ...parts, demand, store }),
        store,
        live,
        encoder: createEncoder({ isShared }),
        now,
        metrics
      },
      async close () {
        live.close()
        demand.close()
        await store?.close()
      }
    }
  },

  async consumers (parts) {
    const { metrics, settings, embedded, importModule, log, fail } = parts
    const exchanges = exchangesOf(settings)
    const ownSources = await loadSources(settings.exchanges, exchanges.map(({ name }) => name), importModule)
    const store = await openPriceStore(settings, { embedded, onFailure: fail, metrics: metrics.store })
    await store?.check().catch((error) => {
      if (error.code === 'DYNAMODB_TABLE_UNUSABLE') throw error
      log.error({ code: error.code, reason: error.message }, 'history waits for its store')
    })
    const sources = createSources({ exchanges: [...exchanges, ...ownSources], log })
    const refresh = createRefresher({ sources, admission: parts, connectionOf: parts.connectionOf, onRefresh: metrics.refreshed })
    metrics.follow(sources.figures)
    return {
      run: ({ key }) => refresh(key),
      figures: sources.figures,
      triggers: ({ fields }) => fields.type === 'wanted',
      batches: store && { name: 'history', write: store.write },
      async close () {
        sources.close()
        await store?.close()
      }
    }
  }
}

export { aggregate } from './aggregate.js'
export { syntheticTick } from './exchanges/exchanges.js'
export { STATUSES } from './replies.js'
export { thresholdOf } from './sources/sources.js'
export { createDemand, createEncoder, createPriceQueries, createPrices, createSources, exchangesOf, loadSources, timesOf }
