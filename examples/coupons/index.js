/** Coupons of campaigns: so many in all, so many a person, until the campaign ends. docs/own-systems.md has each part. */
import { fields, queries, schemas } from 'freshet-feed/systems'

const { count, objectOf, time } = schemas
const CAMPAIGN = objectOf({
  campaign: schemas.id, total: count, left: count, most: { ...count, description: 'of a person' }, ended: { type: 'boolean' }, endsAt: time
})
const CLAIM = objectOf({ number: count, person: { type: 'string', description: 'masked' }, ts: time })

/** @type {(stored: import('freshet-feed/systems').Stored) => object} */
const shown = ({ key, state }) => ({
  campaign: key,
  total: Number(state.total),
  left: Number(state.left),
  most: Number(state.most),
  ended: state.ended === '1',
  endsAt: Number(state.endsAt)
})

/**
 * An event without names: of a claim its number and a pseudonym.
 * @param {import('freshet-feed/systems').Event} event @param {(id: string) => string} mask
 */
const eventOf = ({ type, number, person, left, ts }, mask) =>
  type === 'claimed' ? { type, number: Number(number), person: mask(String(person)), left: Number(left), ts } : { type, ts }

/** @type {import('freshet-feed/systems').System} */
export default {
  name: 'coupons',
  rules: {
    campaign: {
      lua: new URL('./campaign.lua', import.meta.url),
      keeps: ['members'],
      certain: (state, [op]) => op !== 'claim' ? null : state.left === '0' ? 'none_left' : state.ended === '1' ? 'over' : null
    }
  },
  errors: {
    CAMPAIGN_UNKNOWN: { status: 404, meaning: 'there is no campaign with this id' },
    CAMPAIGN_EXISTS: { status: 409, meaning: 'the campaign exists with other terms' },
    CAMPAIGN_OVER: { status: 409, meaning: 'the campaign has ended, or would end before it begins' },
    COUPONS_GONE: { status: 409, meaning: 'no coupon is left' },
    COUPON_LIMIT: { status: 409, meaning: 'this person has as many as one may have' }
  },
  unknown: 'CAMPAIGN_UNKNOWN',
  commands: {
    create: {
      method: 'PUT',
      path: '/v1/campaigns/:id',
      access: 'admin',
      summary: 'Create a campaign',
      body: { total: { type: 'integer', minimum: 1, maximum: 1e6 }, most: { type: 'integer', minimum: 1 }, endsAt: fields.time('its end') },
      command: ({ params, body: { total, most, endsAt } }) =>
        ({ rule: 'campaign', key: params.id, args: ['create', String(total), String(most), String(endsAt)] }),
      replies: { created: 201, unchanged: 200, exists: 'CAMPAIGN_EXISTS', ends_too_soon: 'CAMPAIGN_OVER' }
    },
    claim: {
      path: '/v1/campaigns/:id/coupons',
      summary: 'Claim a coupon',
      body: { person: fields.id('who gets it, asserted by the holder of the token') },
      command: ({ params, body }) => ({ rule: 'campaign', key: params.id, args: ['claim', body.person] }),
      replies: {
        claimed: 201, no_such_campaign: 'CAMPAIGN_UNKNOWN', none_left: 'COUPONS_GONE', over: 'CAMPAIGN_OVER', limit: 'COUPON_LIMIT'
      }
    }
  },
  reader: ({ mask }) => ({ queries: mask }),
  queries: {
    campaign: { path: '/v1/campaigns/:id', summary: 'A campaign', reply: CAMPAIGN, shown },
    claimants: queries.history({
      path: '/v1/campaigns/:id/coupons',
      summary: 'Its events, the newest first: who has got a coupon',
      item: CLAIM,
      codes: ['CAMPAIGN_UNKNOWN'],
      shown: eventOf
    }),
    ofPerson: queries.ofUser({
      path: '/v1/people/:id/coupons',
      what: 'Coupons',
      item: objectOf({ campaign: schemas.id, number: count, ts: time }),
      sql: 'SELECT id, campaign, number, at FROM coupon WHERE person = $1 AND id < $2 ORDER BY id DESC LIMIT $3',
      shown: ({ campaign, number, at }) => ({ campaign, number, ts: at.getTime() })
    })
  },
  stream: { path: '/v1/campaigns/:id/live', summary: 'A campaign, then its events', snapshot: shown, event: eventOf },
  migrations: new URL('./tables/', import.meta.url),
  rows: {
    /** In one transaction with the cursor, so each entry counts once. */
    async coupons (client, entries) {
      for (const { key, fields: { type, person, number, ts } } of entries) {
        if (type !== 'claimed') continue
        await client.query('INSERT INTO coupon (campaign, number, person, at) VALUES ($1, $2, $3, to_timestamp($4 / 1000.0))',
          [key, number, person, ts])
      }
    }
  },
  page: { folder: new URL('./page/', import.meta.url), summary: 'A campaign', isOfCommands: true }
}
