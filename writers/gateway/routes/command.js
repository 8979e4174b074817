/** What routes of commands share: the error codes of admission, ids of paths, and replies that may be replays. */
import { readId } from '../../../src/http/index.js'

export const JSON_TYPE = 'application/json'
export const MAX_BODY_BYTES = 16 * 1024
export const COMMAND_CODES = Object.freeze([
  'FIELD_INVALID', 'IDEMPOTENCY_KEY_REUSED', 'PAYLOAD_TOO_LARGE', 'MEDIA_TYPE_UNSUPPORTED', 'ADMISSION_FULL', 'ADMISSION_BACKLOG',
  'ADMISSION_LATE', 'NOT_CONFIRMED'
])

/** @param {import('fastify').FastifyRequest} request @param {string} [name] */
export const idOf = ({ params }, name = 'id') => readId(/** @type {any} */ (params)[name], name)

/**
 * @param {import('fastify').FastifyReply} response
 * @param {() => Promise<{ status: number, body: Record<string, unknown>, isReplay: boolean }>} run
 */
export async function send (response, run) {
  const { status, body, isReplay } = await run()
  if (isReplay) response.header('idempotent-replayed', 'true')
  return response.code(status).send(body)
}
