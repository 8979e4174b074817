import t from 'tap'
import { definitionKey, formatFor, namesKey, onlyKey, partitionKey, partitionPattern } from '../../src/feeds/keys.js'

const OF_TWELVE = { feed: 'a.b', partitions: 12 }

t.test('keys are these', async (t) => {
  t.equal(namesKey('fr:'), 'fr:feeds')
  t.equal(definitionKey('fr:', 'latest'), 'fr:{latest}:feed')
  t.equal(onlyKey('fr:', 'latest')('ids'), 'fr:{latest:0}:ids')
  t.equal(partitionKey('p:', { ...OF_TWELVE, format: 1 }, 11)('item:'), 'p:{a.b:11}:item:', 'written before feeds spread over a cluster')
  t.equal(partitionKey('p:', { feed: 'latest', partitions: 10, format: formatFor({ format: 1 }, 10) }, 3)('ids'), 'p:{latest:3.12}:ids')
  t.equal(formatFor({ format: 1 }, 1), 1, 'one partition has the keys that it always had')
  t.equal(partitionPattern('fr:', 'latest'), 'fr:{latest:*')
})

t.test('all keys of a partition share its hash tag, whatever the part', async (t) => {
  const tagOf = (/** @type {string} */ key) => /\{(.*?)\}/.exec(key)?.[1]
  const key = partitionKey('fr:', { feed: 'latest', partitions: 6, format: 1 }, 3)
  for (const part of ['ids', 'trimmer', 'item:{x}', 'item:}{']) t.equal(tagOf(key(part)), 'latest:3')
})
