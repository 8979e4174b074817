/** What a client accepts, by its headers: NDJSON or JSON (RFC 9110, 12.5.1), gzip or not (12.5.3). */

const MAX_CACHED = 100

/** Answers of acceptsGzip by header: clients send few different ones. @type {Map<string, boolean>} */
const cached = new Map()

/** @param {string} header of names with weights @returns {Map<string, number>} */
const weightsOf = (header) => new Map(header.toLowerCase().split(',').map((range) => {
  const [name, ...parameters] = range.split(';').map((part) => part.trim())
  const weight = parameters.find((parameter) => parameter.startsWith('q='))
  return [name, weight ? Number(weight.slice(2)) : 1]
}))

/**
 * @param {string | undefined} header Accept
 * @returns {boolean} NDJSON is named, and JSON is not named with a higher weight
 */
export function prefersNdjson (header) {
  if (!header || !/ndjson/i.test(header)) return false
  const weights = weightsOf(header)
  const ndjson = weights.get('application/x-ndjson') ?? 0
  return ndjson > 0 && ndjson >= (weights.get('application/json') ?? 0)
}

/**
 * @param {string | undefined} header Accept-Encoding
 * @returns {boolean} gzip, or any encoding, is named with a weight above 0
 */
export function acceptsGzip (header) {
  if (header === undefined) return false
  const known = cached.get(header)
  if (known !== undefined) return known
  const weights = weightsOf(header)
  const accepts = (weights.get('gzip') ?? weights.get('x-gzip') ?? weights.get('*') ?? 0) > 0
  if (cached.size >= MAX_CACHED) cached.clear()
  cached.set(header, accepts)
  return accepts
}
