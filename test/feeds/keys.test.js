import t from 'tap'
import { definitionKey, namesKey, onlyKey, partitionKey, partitionPattern } from '../../src/feeds/keys.js'

t.test('keys are these', async (t) => {
  t.equal(namesKey('fr:'), 'fr:feeds')
  t.equal(definitionKey('fr:', 'latest'), 'fr:{latest}:feed')
  t.equal(onlyKey('fr:', 'latest')('ids'), 'fr:{latest:0}:ids')
  t.equal(partitionKey('p:', { feed: 'latest', partitions: 10 }, 3)('ids'), 'p:{latest:3.12}:ids')
  t.equal(partitionPattern('fr:', 'latest'), 'fr:{latest:*')
})

t.test('all keys of a partition share its hash tag, whatever the part', async (t) => {
  const tagOf = (/** @type {string} */ key) => /\{(.*?)\}/.exec(key)?.[1]
  const key = partitionKey('fr:', { feed: 'latest', partitions: 6 }, 3)
  for (const part of ['ids', 'trimmer', 'item:{x}', 'item:}{']) t.equal(tagOf(key(part)), 'latest:3.11')
})
