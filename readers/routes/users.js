/** What users have, from the database: bids and claims, the newest first. */
import { commandRoute, ID_TEXT, integer, moneyText, querySchema, readId, readQuery } from '../../src/http/index.js'

const MAX_PAGE = 1000
const PAGE = 100
const FIELDS = {
  after: integer(1, Number.MAX_SAFE_INTEGER, { description: 'only older ones: `next` of the page before' }),
  limit: integer(1, MAX_PAGE, { description: 'of a page', default: PAGE })
}
const NEXT = { type: ['string', 'null'], description: 'for `after`' }
const TIME = { type: 'integer', description: 'milliseconds since 1970' }
const BIDS = 'SELECT id, auction, seq, amount, kind, at FROM bids WHERE user_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3'
const CLAIMS = `SELECT id, sale, claim, seq, quantity, status, created_at AS at FROM orders
  WHERE user_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3`

const BID = {
  type: 'object',
  properties: {
    auctionId: ID_TEXT,
    seq: { type: 'integer' },
    amount: { type: 'string' },
    by: { type: 'string', enum: ['bid', 'proxy', 'buy'] },
    ts: TIME
  }
}
const CLAIM = {
  type: 'object',
  properties: {
    saleId: ID_TEXT,
    claimId: ID_TEXT,
    seq: { type: 'integer' },
    quantity: { type: 'integer' },
    status: { type: 'string', enum: ['sold', 'revoked'] },
    ts: TIME
  }
}

/** @param {any} row */
const bidOf = ({ auction, seq, amount, kind, at }) =>
  ({ auctionId: auction, seq: Number(seq), amount: moneyText(amount), by: kind, ts: at.getTime() })
/** @param {any} row */
const claimOf = ({ sale, claim, seq, quantity, status, at }) =>
  ({ saleId: sale, claimId: claim, seq: Number(seq), quantity: Number(quantity), status, ts: at.getTime() })

/** @param {import('fastify').FastifyInstance} app @param {{ database: import('../database.js').ReaderDatabase }} parts */
export async function userRoutes (app, { database }) {
  app.addHook('onSend', async (_request, reply) => { reply.header('cache-control', 'no-store') })
  for (const [what, system, summary, text, schema, shown] of /** @type {const} */ ([
    ['bids', 'auctions', 'Bids of a user', BIDS, BID, bidOf],
    ['claims', 'sales', 'Sold and revoked claims of a user', CLAIMS, CLAIM, claimOf]
  ])) {
    app.get(`/v1/users/:id/${what}`, {
      config: /** @type {any} */ ({ access: 'write', system }),
      schema: commandRoute({
        summary: `${summary}, the newest first; needs the scope write, since user ids are not masked`,
        tag: system,
        params: { id: ID_TEXT },
        query: querySchema(FIELDS),
        content: { 200: { type: 'object', properties: { items: { type: 'array', items: schema }, next: NEXT } } },
        codes: ['DATABASE_DOWN', 'DATABASE_TIMEOUT']
      })
    }, async (request) => {
      const { after, limit } = readQuery(request, FIELDS)
      const user = readId(/** @type {any} */ (request.params).id, 'id')
      const most = Number(limit)
      const rows = await database.rows(text, [user, after ?? Number.MAX_SAFE_INTEGER, most + 1])
      const page = rows.slice(0, most)
      return { items: page.map((/** @type {any} */ row) => shown(row)), next: rows.length > most ? String(page.at(-1).id) : null }
    })
  }
}
