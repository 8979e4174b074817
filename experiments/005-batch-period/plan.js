/**
 * 005: see README.md. The published batches held as many items whatever the period, so that items a second fell; both
 * readings are arms. Windows begin and end 0.7 s after the last burst of each period (1, 1.5 and 2 s), so that none is cut:
 * they hold 6, 4 and 3 bursts. A burst of 40,000 items writes each of the ids once, as published.
 */
export default {
  title: 'Does a longer batch period help?',
  question: 'Does an item of overwriting ids cost less when bursts come every 1.5 or 2 seconds instead of every second?',
  baseline: 'every 1 s',
  ceiling: 'blob',
  arms: {
    'every 1 s': { settings: { periodMs: 1000, rate: 40_000 } },
    'every 1.5 s (same burst)': {
      settings: { periodMs: 1500, rate: 40_000 * 1000 / 1500 }, note: 'as published: 40,000 items each time, so fewer per second'
    },
    'every 2 s (same burst)': {
      settings: { periodMs: 2000, rate: 20_000 }, note: 'as published: 40,000 items each time, so fewer per second'
    },
    'every 2 s (same rate)': { settings: { periodMs: 2000, rate: 40_000 }, note: '80,000 items each time' },
    blob: { load: 'blob', settings: { periodMs: 1000, rate: 40_000 } }
  },
  labels: {
    'every 1.5 s (same burst)': 'every 1.5 s, same burst',
    'every 2 s (same burst)': 'every 2 s, same burst',
    'every 2 s (same rate)': 'every 2 s, same rate',
    blob: 'bare bytes'
  },
  chart: {
    about: { arm: 'every 2 s (same rate)', against: 'every 1 s', says: 'Bursts each 2 s cost {} of bursts each second, same rate' }
  },
  levels: { 'in bursts': {} },
  fixed: { layout: 'ids', late: 'overwrite', pace: 'burst', ids: 40_000, valueBytes: 128, windowMs: 60_000, maxItems: 0 },
  seconds: 6,
  warmUpSeconds: 2.7,
  rounds: 5,
  measures: ['primaryCpuMicrosPerItem', 'replicaCpuMicrosPerItem', 'primaryCpuPercent', 'replicaCpuPercent', 'commandsPerItem',
    'behindMsP99', 'itemsPerSecond'],
  differs: [
    'arms with the same burst send 40,000, 26,667 and 20,000 items a second: compare them per item, not in percent',
    'an item waits up to a period before it is sent',
    'blob sends 1,000 items as one value'
  ],
  expected: [
    { arm: 'every 1.5 s (same burst)', against: 'every 1 s', direction: 'same' },
    { arm: 'every 2 s (same burst)', against: 'every 1 s', direction: 'same' },
    { arm: 'every 2 s (same rate)', against: 'every 1 s', direction: 'same' },
    { arm: 'blob', against: 'every 1 s', direction: 'less' }
  ],
  notControlled: [
    'primary, two replicas and the load share two cores: during a burst all of them are busy at once',
    'published percent are of a whole node, with its system and network; ours are of the server process'
  ]
}
