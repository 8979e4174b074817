/**
 * A server that owes replies and sends none for so long is silent, and its connection is over. One rule covers every command,
 * so nothing else in the program needs a timer for a reply.
 */

/**
 * @param {{ deadlineMs: number, isOwed: () => boolean, heardAtMs: () => number, end: (reason: string) => void }} parts `heardAtMs`:
 *   when something came last, or when the first of what is owed was asked for, on performance.now()
 * @returns {NodeJS.Timeout} to be cleared at the end
 */
export function watchForSilence ({ deadlineMs, isOwed, heardAtMs, end }) {
  const isSilent = () => isOwed() && performance.now() - heardAtMs() > deadlineMs
  return setInterval(() => {
    // a busy process looks like a silent server: replies that have arrived are read before the verdict
    if (isSilent()) setImmediate(() => { if (isSilent()) end(`silent for ${deadlineMs} ms`) })
  }, Math.max(5, deadlineMs / 4)).unref()
}
