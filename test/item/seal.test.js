/** What is sealed can be read, made and changed only with the secret. */
import t from 'tap'
import { createSeal, encodeCursor, newSecret, plainCursors, readIdFilter, sealedCursors } from '../../src/item/index.js'

const TEXT = Buffer.from('a place').toString('base64url')

t.test('it opens with the same secret, for what it was sealed for, and unchanged', (t) => {
  const secret = newSecret()
  const { seal, open } = createSeal(secret, 'cursor')
  const sealed = seal(TEXT)
  t.equal(open(sealed), TEXT)
  t.equal(createSeal(secret, 'cursor').open(sealed), TEXT)
  t.not(seal(TEXT), sealed, 'two seals of the same differ')
  t.equal(createSeal(secret, 'position').open(sealed), null)
  t.equal(createSeal(newSecret(), 'cursor').open(sealed), null)
  for (const changed of ['', 'x', TEXT, sealed.slice(0, -4), sealed + 'AAAA', `A${sealed.slice(1)}`.replace(/^AA/, 'AB'), `${sealed}=`,
    sealed.slice(0, 30) + (sealed[30] === 'A' ? 'B' : 'A') + sealed.slice(31)]) {
    if (changed !== sealed) t.equal(open(changed), null, changed)
  }
  t.end()
})

t.test('a sealed cursor shows neither id nor its length, and is of one feed and one filter', (t) => {
  const secret = newSecret()
  const filter = /** @type {any} */ (readIdFilter(['a-*']))
  const { encode, decode } = sealedCursors('latest', secret, filter)
  const places = ['b', 'another-tenant'.repeat(9)].map((id) => ({ ts: 1_800_000_000_000, seq: 3, id: Buffer.from(id) }))
  const [short, long] = places.map(encode)
  t.equal(short.length, long.length)
  for (const [i, text] of [short, long].entries()) {
    t.notOk(Buffer.from(text, 'base64url').includes(places[i].id.subarray(0, 4)) && i === 1)
    t.same(decode(text), places[i])
  }
  const invalid = { code: 'CURSOR_INVALID' }
  t.throws(() => sealedCursors('other', secret, filter).decode(short), invalid)
  t.throws(() => sealedCursors('latest', secret, /** @type {any} */ (readIdFilter(['a-*', 'b']))).decode(short), invalid)
  t.throws(() => decode(encodeCursor('latest', places[0])), invalid, 'one that a client has made')
  t.throws(() => plainCursors('latest').decode(short), invalid)
  t.end()
})
