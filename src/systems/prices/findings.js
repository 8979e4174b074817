/** The history store of prices, as doctor shows it. */
import { defaultCacheDir, DYNALITE_VERSION, hasDynalite, ROOT, runningPart } from '../../embedded/index.js'
import { createPriceStore } from './store/index.js'

/** @param {string[]} cells */
const row = (...cells) => ['history store', ...cells]

/**
 * @param {Record<string, any>} settings @param {number} deadlineMs @returns {Promise<import('../definition.js').Findings>}
 */
export async function findings ({ dynamodbTable, dynamodbEndpoint, dynamodbRegion, cacheDir }, deadlineMs) {
  if (dynamodbTable === null) return { rows: [row('none; the history of prices is what the event stream holds')], problems: [] }
  if (dynamodbEndpoint === 'embedded') {
    const isFetched = await hasDynalite(cacheDir ?? defaultCacheDir(ROOT))
    const state = isFetched ? 'the pinned copy' : 'downloaded when a command first needs it, 3 MB'
    const running = await runningPart('dynamodb') ?? 'not running'
    return { rows: [row(dynamodbTable, `dynalite ${DYNALITE_VERSION} (${state})`, running)], problems: [] }
  }
  const location = { endpoint: dynamodbEndpoint ?? undefined, region: dynamodbRegion ?? undefined }
  const where = [dynamodbEndpoint ?? 'AWS', ...(dynamodbRegion ? [dynamodbRegion] : [])]
  try {
    const store = await createPriceStore({ table: dynamodbTable, location, deadlineMs })
    await store.check().finally(store.close)
    return { rows: [row(dynamodbTable, ...where)], problems: [] }
  } catch (error) {
    return { rows: [row(dynamodbTable, ...where, 'unusable')], problems: [`${error.message}.`] }
  }
}
