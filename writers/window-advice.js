/**
 * How to keep items that are too old for a feed. The first accepted item creates the feed, so before it the flag counts.
 * @param {import('../src/inside.js').WritableFeed} feed
 * @returns {string}
 */
export function windowAdvice ({ name, definition: { windowMs }, writer }) {
  const change = writer.isStored ? `npx freshet feed set ${name} --window-ms N` : '--window-ms N'
  return `the window is ${windowMs} ms; to change it: ${change} (0 = no age limit)`
}
