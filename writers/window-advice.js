/**
 * How to keep items that are too old for a feed. The first accepted item creates the feed, so before it the flag counts.
 * @param {import('../src/inside.js').WritableFeed} feed
 * @returns {string}
 */
export const windowAdvice = (feed) =>
  adviceOf(feed, feed.writer.isStored ? `npx freshet feed set ${feed.name} --window-ms N` : '--window-ms N')

/** The same for clients of a gateway. @param {import('../src/inside.js').WritableFeed} feed @returns {string} */
export const windowAdviceOverHttp = (feed) =>
  adviceOf(feed, `PUT /v1/feeds/${feed.name} {"windowMs":N}, where tokens are required with the scope admin`)

/** @param {import('../src/inside.js').WritableFeed} feed @param {string} change */
const adviceOf = ({ definition: { windowMs } }, change) => `the window is ${windowMs} ms; to change it: ${change} (0 = no age limit)`
