/** A member of a crew that ends as ordered: `done`, `dies` before it is ready, or `stays` until a stop request. */
/** @type {{ index: number, ends: string[] }} */
let order

/** @param {Record<string, unknown>} message */
const say = (message) => new Promise((resolve) => process.send?.(message, () => resolve(null)))

/** @param {string} why */
async function leave (why) {
  await say({ event: 'done', index: order.index, why })
  process.exit(0)
}

process.on('message', async (/** @type {any} */ message) => {
  if (message.event === 'start') {
    order = message
    if (order.ends[order.index] === 'dies') process.kill(process.pid, 'SIGKILL')
    else await say({ event: 'opened' })
  }
  if (message.event === 'go') {
    await say({ event: 'measuring' })
    if (order.ends[order.index] === 'done') await leave('done')
  }
  if (message.event === 'stop') await leave(message.reason)
})
