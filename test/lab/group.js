/** A replication group as AWS describes it, and the lab's URL of its primary. */
export const TARGET = 'rediss://freshet-lab:secret@primary.example:6379'
export const GROUP = {
  name: 'feed',
  nodeType: 'cache.r7g.large',
  primaryAddress: 'primary.example:6379',
  nodes: [
    { id: 'feed-001', role: /** @type {const} */ ('primary'), address: 'feed-001.example:6379' },
    { id: 'feed-002', role: /** @type {const} */ ('replica'), address: 'feed-002.example:6379' }
  ]
}
