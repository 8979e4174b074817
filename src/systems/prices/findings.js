/** The history store of prices, as doctor shows it. */
import { createPriceStore } from './store/index.js'

/** @import { EmbeddedServices, Findings } from 'freshet-feed/systems' */

/** @param {string[]} cells */
const row = (...cells) => ['history store', ...cells]

/**
 * @param {Record<string, any>} settings @param {number} deadlineMs @param {Pick<EmbeddedServices, 'look'>} embedded
 * @returns {Promise<Findings>}
 */
export async function findings ({ dynamodbTable, dynamodbEndpoint, dynamodbRegion }, deadlineMs, { look }) {
  if (dynamodbTable === null) return { rows: [row('none; the history of prices is what the event stream holds')], problems: [] }
  if (dynamodbEndpoint === 'embedded') {
    const { program, url } = await look('dynamodb')
    return { rows: [row(dynamodbTable, program, url ?? 'not running')], problems: [] }
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
