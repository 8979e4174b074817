/** Which of two formats a client prefers, by its Accept header (RFC 9110, 12.5.1). JSON is given unless NDJSON is asked for. */

/**
 * @param {string | undefined} accept
 * @returns {boolean} NDJSON is named, and JSON is not named with a higher weight
 */
export function prefersNdjson (accept) {
  if (!accept || !/ndjson/i.test(accept)) return false
  const weights = new Map(accept.toLowerCase().split(',').map((range) => {
    const [type, ...parameters] = range.split(';').map((part) => part.trim())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    return [type, weight ? Number(weight.slice(2)) : 1]
  }))
  const ndjson = weights.get('application/x-ndjson') ?? 0
  return ndjson > 0 && ndjson >= (weights.get('application/json') ?? 0)
}
