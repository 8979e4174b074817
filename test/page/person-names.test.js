/** Pseudonyms of people on pages. */
import t from 'tap'
import { personName } from '../../readers/page/person-names.js'

const MASKED = Array.from({ length: 2000 }, (_, i) => Buffer.from(`person ${i * 7919}`).toString('base64url').slice(-10))

t.test('a masked id always has the same name, an adjective and an animal', async (t) => {
  t.equal(personName('UAVuR0HHd4'), 'Emerald Hornbill')
  for (const masked of MASKED) t.match(personName(masked), /^[A-Z][a-z]+ [A-Z][a-z]+$/)
})

t.test('few people share a name', async (t) => {
  t.ok(new Set(MASKED.map(personName)).size > MASKED.length * 0.9)
})
