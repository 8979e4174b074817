/**
 * Calls back when a response is over, finished or not, also if it is already.
 * @param {import('node:http').ServerResponse} response
 * @param {() => void} done called once
 */
export function whenClosed (response, done) {
  if (response.closed) process.nextTick(done)
  // `close` comes once, so `once` is not needed
  else response.on('close', done)
}
