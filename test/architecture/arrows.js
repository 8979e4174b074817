/** What each place may import of ours, besides its own files. docs/architecture.md has the same table. */
export const ARROWS = /** @type {Record<string, string[]>} */ ({
  'src/runtime': ['src/errors.js', 'src/store'],
  'src/settings': ['src/errors.js'],
  'src/item': ['src/errors.js'],
  'src/layouts': ['src/errors.js', 'src/item'],
  'src/store': ['src/errors.js'],
  'src/feeds': ['src/errors.js', 'src/item', 'src/layouts', 'src/store'],
  'src/admission': ['src/errors.js', 'src/item', 'src/store'],
  'src/consumers': ['src/errors.js', 'src/admission', 'src/store'],
  'src/sql': ['src/errors.js'],
  'src/schedule': ['src/admission', 'src/store'],
  'src/waiting-room': ['src/store'],
  'src/pipeline': ['src/errors.js', 'src/item', 'src/layouts', 'src/feeds', 'src/store'],
  'src/view': ['src/errors.js', 'src/item', 'src/layouts', 'src/feeds', 'src/store'],
  'src/metrics': ['src/errors.js', 'src/runtime', 'src/pipeline'],
  'src/http': ['src/errors.js', 'src/metrics', 'src/settings'],
  'src/replies': ['src/errors.js', 'src/item', 'src/http'],
  'src/push': ['src/errors.js', 'src/item', 'src/layouts', 'src/view', 'src/http', 'src/replies', 'src/metrics'],
  'src/systems': [
    'src/errors.js', 'src/settings', 'src/item', 'src/admission', 'src/consumers', 'src/schedule', 'src/waiting-room', 'src/sql', 'src/store',
    'src/metrics', 'src/http', 'src/replies', 'src/push'
  ],
  'src/figures': ['src/errors.js', 'src/runtime', 'src/item', 'src/feeds'],
  src: ['lua', 'settings.js'],
  bin: ['settings.js', 'src', 'lab', 'writers', 'readers', 'charts'],
  writers: ['settings.js', 'src'],
  readers: ['settings.js', 'src'],
  lab: ['src'],
  charts: [],
  experiments: [],
  infra: [],
  'settings.js': ['src/errors.js', 'src/settings', 'src/systems']
})
