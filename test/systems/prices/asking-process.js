/**
 * A program of a user that asks for prices until it has all of them, or its time is over: keys of its message -> prices by key. Tests fork
 * it. A process file.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { openPrices } from 'freshet-feed/prices'

const [redisUrl, keyPrefix, withinMs] = process.argv.slice(2)
const prices = openPrices({ redisUrl, keyPrefix, deadlineMs: 10_000 })

/** @param {string} asset @param {number} untilMs @returns {Promise<string>} */
const priceOf = (asset, untilMs) => prices.get(asset).then(({ price }) => price, async (error) => {
  if (!error.retryable || Date.now() > untilMs) throw error
  await sleep(20)
  return priceOf(asset, untilMs)
})

process.on('message', async (/** @type {string[]} */ assets) => {
  const untilMs = Date.now() + Number(withinMs)
  const found = await Promise.all(assets.map(async (asset) => [asset, await priceOf(asset, untilMs).catch(({ code }) => code)]))
  process.send?.(Object.fromEntries(found))
})
process.once('disconnect', () => prices.close())
process.send?.('up')
